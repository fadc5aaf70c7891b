/** All that a swap measured: effects, single layers, positions, and the error through depth. */
import {type Block, type ColumnSpec, heading, list, table, text} from '../../../report/document.js'
import {MISSING, plural} from '../../../report/numbers.js'
import {backendItems, troubleItems} from '../../labels.js'
import type {CompletedSwap, SwapRecord} from '../schema.js'
import {byLayers, triedSets} from './budget.js'
import {byDamage, interval, two} from './damage.js'
import {positionTables, ROW_NAMES} from './positions.js'
import {damageColumns, itemName, predictsClasses, swapSentences, titleOf} from './screen.js'
import {isOneByOne, sensitivityTable} from './sensitivity.js'

export function swapReport(records: readonly SwapRecord[]): Block[] {
  const completed = records.filter(record => record.status === 'completed')
  const searched = completed[0]?.cell.budget !== undefined
  const rows = completed.toSorted(searched ? byLayers : byDamage)
  const [first] = rows
  if (!first) return list(troubleItems(records))
  return [
    heading(2, titleOf(first)),
    text(swapSentences(records).join(' ')),
    table([...damageColumns(rows), ...intervalColumns(first)], rows),
    text(
      `In brackets: 95 % intervals over ${plural(first.result.texts_read, itemName(first.cell))} and the draws of random features. ${MEANINGS[first.cell.causal ? 'causal' : 'encoder']}`,
    ),
    ...(searched ? [heading(3, 'Sets of layers that were tried'), ...triedSets(rows)] : []),
    ...(searched || isOneByOne(rows)
      ? [heading(3, 'Damage of each layer by itself'), sensitivityTable(rows)]
      : []),
    ...positionTables(rows),
    heading(3, 'Error of hidden states after each layer, % of the original'),
    table(depthColumns(first), rows),
    ...list([...backendItems(rows), ...troubleItems(records)]),
  ]
}

const MEANINGS = {
  causal:
    'nats/token: nats per token more than the original. same top: places at which both models hold the same token most likely. KL: divergence from the next-token distribution of the original, nats. hidden off: relative L2 error of the last hidden states.',
  encoder:
    '1 - cosine: of the embedding of a text to the original one. same nearest: texts with the same nearest other text. same class: texts with the same predicted class. 10 nearest: share of the ten nearest texts that is kept. Spearman: rank correlation of the similarities of all pairs of texts with the original ones. hidden off: relative L2 error of the last hidden states.',
}

function intervalColumns(first: CompletedSwap): ColumnSpec<CompletedSwap>[] {
  if (first.result.causal_effects) {
    return [
      {title: 'KL, interval', cell: row => interval(row.result.causal_effects!.kl_nats)},
      {
        title: 'same top, interval',
        cell: row => interval(row.result.causal_effects!.top_agreement),
      },
    ]
  }
  return [
    {title: 'Spearman, interval', cell: row => interval(row.result.encoder_effects!.pair_spearman)},
    {
      title: '10 nearest, interval',
      cell: row => interval(row.result.encoder_effects!.ten_nearest_kept),
    },
    ...(predictsClasses(first) ? [CLASS_INTERVAL] : []),
  ]
}

const CLASS_INTERVAL: ColumnSpec<CompletedSwap> = {
  title: 'same class, interval',
  cell: ({result}) => {
    const same = result.encoder_effects?.class_agreement
    return same ? interval(same) : MISSING
  },
}

function depthColumns({result}: CompletedSwap): ColumnSpec<CompletedSwap>[] {
  return [
    ...ROW_NAMES,
    ...result.hidden_error.map(
      (_, layer): ColumnSpec<CompletedSwap> => ({
        title: `layer ${layer}`,
        cell: row => {
          const error = row.result.hidden_error[layer] ?? null
          return error === null ? MISSING : two(100 * error)
        },
      }),
    ),
  ]
}
