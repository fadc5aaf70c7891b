/** The first screen of a swap: the answer in sentences, and the rows with the least damage. */
import {tiesWith} from '../../../answers/index.js'
import {modelName} from '../../../model/hub.js'
import {type Block, type ColumnSpec, list, table, text} from '../../../report/document.js'
import {groupBy} from '../../../report/groups.js'
import {MISSING, plural, significant} from '../../../report/numbers.js'
import {fittedScreen, type Screen} from '../../../report/screen.js'
import {troubleItems, variantLabel} from '../../labels.js'
import {layersText} from '../../layers-text.js'
import {type CompletedSwap, isGuessing, type SwapRecord} from '../schema.js'
import {budgetColumns, budgetSentences, byLayers} from './budget.js'
import {
  byDamage,
  comparedLoss,
  damageOf,
  exchangedLayers,
  interval,
  isAverage,
  isEstimate,
  isExact,
  losesNothing,
  lossRatio,
  share,
  two,
  withoutExact,
} from './damage.js'
import {isOneByOne, sensitivityTable} from './sensitivity.js'

/** Rows of the table, and reasons why there are no others. */
const [MOST_ROWS, MOST_REASONS] = [9, 2]

export function swapScreen(records: readonly SwapRecord[]): Block[] {
  const rows = records.filter(record => record.status === 'completed')
  const [first] = rows
  const notes = troubleItems(records).slice(0, MOST_REASONS)
  if (!first) return list(notes)
  return fittedScreen({
    title: text(titleOf(first)),
    answer: swapSentences(records),
    table: () => mainTable(rows),
    notes,
  })
}

/** What was compared. Exact forms are not: a sentence has what they differ by. */
function mainTable(all: readonly CompletedSwap[]): ReturnType<Screen['table']> {
  const rows = withoutExact(all)
  if (isOneByOne(rows)) {
    return {blocks: [sensitivityTable(rows, MOST_ROWS)], below: ['Intervals: --details.']}
  }
  const searched = rows[0]!.cell.budget !== undefined
  const sorted = rows.toSorted(searched ? byLayers : byDamage)
  const columns = searched ? budgetColumns(rows) : damageColumns(rows, true)
  const rest = sorted.length - MOST_ROWS
  return {
    blocks: [table(columns, shownRows(sorted))],
    below: rest > 0 ? [`${plural(rest, 'more row')}: --details.`] : [],
  }
}

/** The best row of each method, and others as far as there is room; in their order. */
function shownRows(sorted: readonly CompletedSwap[]): CompletedSwap[] {
  const best = groupBy(sorted, ({cell}) => `${cell.method} ${cell.tuned?.path}`).map(
    ([first]) => first!,
  )
  const others = sorted.filter(row => !best.includes(row))
  const shown = [...best, ...others].slice(0, MOST_ROWS)
  return sorted.filter(row => shown.includes(row))
}

export function titleOf({cell, result}: CompletedSwap): string {
  const {model_layers, heads, head_dim, texts_read, tokens_read, texts_left_out, pooled_by} = result
  const sizes = `${plural(model_layers, 'layer')}, ${plural(heads, 'head')} of ${head_dim}`
  const without = texts_left_out === 0 ? '' : ` (${texts_left_out} left out: too short)`
  const places = cell.texts.format ? 'positions' : 'tokens'
  const read = `${plural(texts_read, itemName(cell))}${without}, ${tokens_read.toLocaleString('en-US')} ${places}`
  const pooled = pooled_by === null ? '' : `; pooled by ${pooled_by}`
  const against = cell.original ? `, against ${modelName(cell.original.folder)}` : ''
  return `${modelName(cell.model.folder)}${against}: ${sizes}, ${cell.causal ? 'causal' : 'bidirectional'}; ${read}${pooled}${engineText(result)}`
}

/** What one of those is called that a model reads. */
export function itemName({texts}: Pick<CompletedSwap['cell'], 'texts'>): string {
  return texts.format ? 'item' : 'text'
}

/** What ran the model, where the program did not. */
function engineText({engine}: CompletedSwap['result']): string {
  if (!engine) return ''
  const {transformers, torch, python, device} = engine
  return `; run by Transformers ${transformers} (PyTorch ${torch}, Python ${python}, ${device})`
}

/** The answer: the least damage and that of averaging V; the layers that lose least and most; or the layers within a budget. */
export function swapSentences(records: readonly SwapRecord[]): string[] {
  const rows = records.filter(record => record.status === 'completed')
  const [first] = rows
  if (!first) return []
  const {result} = first
  if (isGuessing(result)) return [guessSentence(result)]
  return [...originalOf(first), ...answer(rows), ...floorSentence(rows)]
}

/** Nothing that is done to a model that guesses says anything: nothing is ranked. */
function guessSentence({
  original_nats,
  guessing_nats,
}: Pick<CompletedSwap['result'], 'original_nats' | 'guessing_nats'>): string {
  return `The original model guesses on these texts: it takes ${significant(original_nats)} nats per token, equal chances for every token ${significant(guessing_nats)}. Losses say nothing here; take texts of the kind that it was trained on.`
}

function originalOf({result}: CompletedSwap): string[] {
  const {original_nats: nats} = result
  return nats === null ? [] : [`The original model takes ${significant(nats)} nats per token.`]
}

function answer(rows: readonly CompletedSwap[]): string[] {
  if (rows[0]!.cell.budget !== undefined) return budgetSentences(rows)
  const sets = groupBy(rows, ({cell}) => cell.layers.join())
  if (isOneByOne(rows)) return [layerSentence(sets)]
  const [most] = sets.toSorted(([a], [b]) => b!.cell.layers.length - a!.cell.layers.length)
  return setSentences(most!)
}

/** What the largest set of layers loses. */
function setSentences(rows: readonly CompletedSwap[]): string[] {
  const [best, ...others] = rows.filter(isEstimate).toSorted(byDamage)
  if (!best) return ['No estimate was measured.']
  const average = rows.find(isAverage)
  const tuned = tunedSentences(rows)
  const estimates = [best, ...others]
  const where = `With attention exchanged in ${layersText(best.cell.layers, best.result.model_layers)}`
  if (estimates.every(losesNothing)) {
    return [
      ...tuned,
      `${where}, ${nothingLost(estimates)}`,
      ...(average ? [averageText(average)] : []),
    ]
  }
  if (average && byDamage(average, best) <= 0) {
    const measurably = comparedLoss(average, best) === 'less' ? '' : 'measurably '
    return [
      ...tuned,
      `${where}, no method loses ${measurably}less than averaging V, which loses ${lossText(average)}. The best is ${variantLabel(best.cell)}: ${lossText(best)}.`,
    ]
  }
  const ties = tiesWith(best, others, comparedLoss)
  const [tie] = ties
  const alike =
    tie === undefined
      ? ''
      : ties.length === 1
        ? ` ${variantLabel(tie.cell)} is not distinguishable from it.`
        : ` ${ties.length} other rows are not distinguishable from it.`
  const least = others.length === 0 ? 'loses' : 'loses least:'
  const loses = losesNothing(best) ? 'does not lose measurably:' : least
  const own = `${where}, ${variantLabel(best.cell)} ${loses} ${lossText(best)}.${alike}`
  if (average && comparedLoss(best, average) !== 'less') {
    const it = alike === '' ? 'It' : 'The first'
    return [
      ...tuned,
      own,
      `${it} is not distinguishable from averaging V, which loses ${lossText(average)}.`,
    ]
  }
  return [...tuned, own, ...(average ? [averageText(average)] : [])]
}

/** What learned parameters do to the loss. */
function tunedSentences(rows: readonly CompletedSwap[]): string[] {
  return rows.flatMap(row => {
    const {tuned, ...plain} = row.cell
    const label = variantLabel(plain)
    const other = rows.find(({cell}) => !cell.tuned && variantLabel(cell) === label)
    if (!tuned || !other) return []
    const ratio = lossRatio(row, other)
    const times = ratio ? `, ${two(ratio.value)}x [${two(ratio.low)}, ${two(ratio.high)}]` : ''
    return [
      `Tuning takes the loss of ${label} from ${lossText(other)} to ${lossText(row)}${times}.`,
    ]
  })
}

/** What rounding changes in exact attention: the floor of all effects. With other weights, what these change. */
function floorSentence(rows: readonly CompletedSwap[]): string[] {
  const changed = rows.find(row => isExact(row) && row.cell.original)
  if (changed) return [`With exact attention the changed weights lose ${lossText(changed)}.`]
  const ends = rows.filter(isExact).flatMap(row => {
    const {mean, low, high} = damageOf(row).effect
    return [mean, low, high].map(end => Math.abs(end ?? 0))
  })
  if (ends.length === 0) return []
  return [`Float32 rounding alone changes the loss by at most ${two(Math.max(...ends))}.`]
}

/** `no method loses measurably: all intervals contain 0.` */
function nothingLost(rows: readonly CompletedSwap[]): string {
  const [only, ...others] = rows as [CompletedSwap, ...CompletedSwap[]]
  const lone = others.length === 0
  const subject = lone ? `${variantLabel(only.cell)} does not lose` : 'no method loses'
  const around = rows.every(row => (damageOf(row).effect.high ?? 0) >= 0)
  const contain = lone ? 'its interval contains 0' : 'all intervals contain 0'
  return `${subject} measurably: ${around ? contain : 'no interval lies above 0'}.`
}

function averageText(average: CompletedSwap): string {
  if (losesNothing(average)) return 'Averaging V does not lose measurably either.'
  return `Averaging V loses ${lossText(average)}.`
}

/** The layers that lose least and most, by the best method of each; or those that lose nothing that was measured. */
function layerSentence(sets: readonly (readonly CompletedSwap[])[]): string {
  const best = sets.flatMap(rows => rows.filter(isEstimate).toSorted(byDamage).slice(0, 1))
  const sorted = best.toSorted(byDamage)
  const [least, most] = [sorted[0], sorted.at(-1)]
  if (!least || !most) return 'No estimate was measured.'
  const where = 'With attention exchanged in one layer at a time'
  const named = (row: CompletedSwap) =>
    `layer ${row.cell.layers[0]} (${variantLabel(row.cell)}: ${lossText(row)})`
  const free = best.filter(losesNothing)
  if (free.length === best.length) {
    return `${where}, no layer loses measurably with its best method: all intervals reach down to 0.`
  }
  if (free.length === 0) return `${where}, ${named(least)} loses least and ${named(most)} most.`
  const numbers = free.map(({cell}) => cell.layers[0]!).toSorted((a, b) => a - b)
  const layers = layersText(numbers, Infinity)
  const verb = free.length > 1 ? 'do' : 'does'
  return `${where}, ${layers} ${verb} not lose measurably with the best method; ${named(most)} loses most.`
}

function lossText(row: CompletedSwap): string {
  return damageOf(row).text
}

/** Columns of effects. @param hideRounding - exact forms say `exact` instead of float32 rounding. Default: they say numbers */
export function damageColumns(
  rows: readonly CompletedSwap[],
  hideRounding = false,
): ColumnSpec<CompletedSwap>[] {
  const sets = new Set(rows.map(row => exchangedLayers(row).join()))
  const causal = rows.some(({result}) => result.causal_effects !== null)
  const shown = (row: CompletedSwap, number: string) =>
    hideRounding && isExact(row) && !row.cell.original ? 'exact' : number
  return [
    {title: 'method', align: 'left', cell: ({cell}) => variantLabel(cell)},
    {
      title: 'layers',
      align: 'left',
      cell: row =>
        layersText(exchangedLayers(row), row.result.model_layers).replace(/^layers? /, ''),
      tells: () => sets.size > 1,
    },
    {title: damageOf(rows[0]!).title, cell: row => shown(row, interval(damageOf(row).effect))},
    ...(causal ? CAUSAL_COLUMNS : ENCODER_COLUMNS),
    ...(rows.some(predictsClasses) ? [CLASS_COLUMN] : []),
    {
      title: 'hidden off',
      cell: row => {
        const last = row.result.hidden_error.at(-1) ?? null
        return shown(row, last === null ? MISSING : `${two(100 * last)} %`)
      },
    },
  ]
}

const CAUSAL_COLUMNS: readonly ColumnSpec<CompletedSwap>[] = [
  {title: 'same top', cell: ({result}) => share(result.causal_effects!.top_agreement)},
  {title: 'KL', cell: ({result}) => two(result.causal_effects!.kl_nats.mean)},
]
const ENCODER_COLUMNS: readonly ColumnSpec<CompletedSwap>[] = [
  {title: 'same nearest', cell: ({result}) => share(result.encoder_effects!.neighbour_agreement)},
  {title: '10 nearest', cell: ({result}) => share(result.encoder_effects!.ten_nearest_kept)},
]

const CLASS_COLUMN: ColumnSpec<CompletedSwap> = {
  title: 'same class',
  cell: ({result}) => {
    const same = result.encoder_effects?.class_agreement
    return same ? share(same) : MISSING
  },
}

/** Whether the model says a class for each text. */
export function predictsClasses({result}: CompletedSwap): boolean {
  return result.encoder_effects?.class_agreement != null
}
