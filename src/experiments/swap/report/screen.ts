/** The first screen of a swap: the answer in sentences, and the rows with the least damage. */
import {basename} from 'node:path'
import {type Block, type ColumnSpec, list, table, text} from '../../../report/document.js'
import {groupBy} from '../../../report/groups.js'
import {MISSING, plural, significant} from '../../../report/numbers.js'
import {troubleItems, variantLabel} from '../../labels.js'
import {layersText} from '../layers-text.js'
import type {CompletedSwap, SwapRecord} from '../schema.js'
import {byDamage, damageOf, interval, isExact, share} from './damage.js'

/** The yardstick that looks at nothing. */
const YARDSTICK = 'mean-value'
/** Rows of the table, and reasons why there are no others. */
const [MOST_ROWS, MOST_REASONS] = [9, 2]

/** Blocks of the first screen. */
export function swapScreen(records: readonly SwapRecord[]): Block[] {
  const rows = completedOf(records).toSorted(byDamage)
  const shown = rows.slice(0, MOST_ROWS)
  const rest = rows.length - shown.length
  return [
    ...(rows[0] ? [text(titleOf(rows[0]))] : []),
    ...(rows.length > 0 ? [text(swapSentences(records).join(' '))] : []),
    ...(rows.length > 0 ? [table(screenColumns(rows), shown)] : []),
    ...(rest > 0 ? [text(`${plural(rest, 'row')} with more damage: --details.`)] : []),
    ...list(troubleItems(records).slice(0, MOST_REASONS)),
  ]
}

/** What was measured. */
export function titleOf({cell, result}: CompletedSwap): string {
  const {model_layers, heads, head_dim, texts_read, tokens_read} = result
  const sizes = `${plural(model_layers, 'layer')}, ${plural(heads, 'head')} of ${head_dim}`
  const read = `${plural(texts_read, 'text')}, ${tokens_read.toLocaleString('en-US')} tokens`
  return `${basename(cell.model.folder)}: ${sizes}, ${cell.causal ? 'causal' : 'bidirectional'}; ${read}`
}

/** The answer for each set of layers: the least damage, and that of averaging V. */
export function swapSentences(records: readonly SwapRecord[]): string[] {
  const rows = completedOf(records)
  const sets = groupBy(rows, ({cell}) => cell.layers.join())
  const most = sets.toSorted(([a], [b]) => b!.cell.layers.length - a!.cell.layers.length)[0]
  if (!most) return []
  const sensitive = sets.every(([first]) => first!.cell.layers.length === 1) && sets.length > 1
  return sensitive
    ? [...originalOf(rows), layerSentence(sets)]
    : [...originalOf(rows), ...answer(most)]
}

function originalOf([first]: readonly CompletedSwap[]): string[] {
  const nats = first?.result.original_nats ?? null
  return nats === null ? [] : [`The original model takes ${significant(nats)} nats per token.`]
}

function answer(rows: readonly CompletedSwap[]): string[] {
  const [best, ...others] = rows.filter(isEstimate).toSorted(byDamage)
  if (!best) return ['No estimate was measured.']
  const yardstick = rows.find(({cell}) => cell.method === YARDSTICK)
  const where = `With attention exchanged in ${layersText(best.cell.layers, best.result.model_layers)}`
  if (yardstick && byDamage(yardstick, best) <= 0) {
    return [
      `${where}, no method loses less than averaging V, which loses ${lossOf(yardstick)}. The best is ${variantLabel(best.cell)}: ${lossOf(best)}.`,
    ]
  }
  const ties = others.filter(other => overlaps(best, other))
  const [tie] = ties
  const overlap =
    tie === undefined
      ? ''
      : ties.length === 1
        ? ` The interval of ${variantLabel(tie.cell)} overlaps.`
        : ` The intervals of ${ties.length} other rows overlap.`
  const own = `${where}, ${variantLabel(best.cell)} loses least: ${lossOf(best)}.${overlap}`
  return yardstick ? [own, `Averaging V loses ${lossOf(yardstick)}.`] : [own]
}

/** Whether the intervals of two rows have a value in common. */
function overlaps(a: CompletedSwap, b: CompletedSwap): boolean {
  const [x, y] = [a, b].map(row => damageOf(row).effect)
  const [high, low] = [x!.high ?? x!.mean, y!.low ?? y!.mean]
  return high === null || low === null || low <= high
}

/** The layers that lose least and most, by the best method of each. */
function layerSentence(sets: readonly (readonly CompletedSwap[])[]): string {
  const best = sets.flatMap(rows => rows.filter(isEstimate).toSorted(byDamage).slice(0, 1))
  const sorted = best.toSorted(byDamage)
  const [least, most] = [sorted[0], sorted.at(-1)]
  if (!least || !most) return 'No estimate was measured.'
  const named = (row: CompletedSwap) =>
    `layer ${row.cell.layers[0]} (${variantLabel(row.cell)}: ${lossOf(row)})`
  return `With attention exchanged in one layer at a time, ${named(least)} loses least and ${named(most)} most.`
}

function lossOf(row: CompletedSwap): string {
  return damageOf(row).text
}

/** Neither an exact form nor a yardstick. */
function isEstimate(row: CompletedSwap): boolean {
  return ![YARDSTICK, 'identity'].includes(row.cell.method) && !isExact(row)
}

/** Columns of the first screen. */
export function screenColumns(rows: readonly CompletedSwap[]): ColumnSpec<CompletedSwap>[] {
  const sets = new Set(rows.map(({cell}) => cell.layers.join()))
  const causal = rows.some(({result}) => result.causal_effects !== null)
  return [
    {title: 'method', align: 'left', cell: ({cell}) => variantLabel(cell)},
    {
      title: 'layers',
      align: 'left',
      cell: ({cell, result}) =>
        layersText(cell.layers, result.model_layers).replace(/^layers? /, ''),
      tells: () => sets.size > 1,
    },
    {
      title: damageOf(rows[0]!).title,
      cell: row => (isExact(row) ? 'exact' : interval(damageOf(row).effect)),
    },
    ...(causal ? CAUSAL_COLUMNS : ENCODER_COLUMNS),
    {
      title: 'hidden off',
      cell: row => {
        const last = row.result.hidden_error.at(-1) ?? null
        if (isExact(row)) return 'exact'
        return last === null ? MISSING : `${significant(100 * last, 2)} %`
      },
    },
  ]
}

const CAUSAL_COLUMNS: readonly ColumnSpec<CompletedSwap>[] = [
  {title: 'same top', cell: ({result}) => share(result.causal_effects!.top_agreement)},
  {title: 'KL', cell: ({result}) => significant(result.causal_effects!.kl_nats.mean, 2)},
]
const ENCODER_COLUMNS: readonly ColumnSpec<CompletedSwap>[] = [
  {title: 'same nearest', cell: ({result}) => share(result.encoder_effects!.neighbour_agreement)},
  {title: '10 nearest', cell: ({result}) => share(result.encoder_effects!.ten_nearest_kept)},
]

function completedOf(records: readonly SwapRecord[]): CompletedSwap[] {
  return records.filter(record => record.status === 'completed')
}
