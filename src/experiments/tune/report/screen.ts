/** The first screen: what learning does on held-out tokens, beside what costs nothing or more. */
import {byInterval, endsOf, tiesWith} from '../../../answers/index.js'
import {type Block, type ColumnSpec, list, table, text} from '../../../report/document.js'
import {evenly} from '../../../report/evenly.js'
import {MISSING, plural, significant} from '../../../report/numbers.js'
import {fittedScreen} from '../../../report/screen.js'
import {listed} from '../../../report/words.js'
import type {MeanInterval} from '../../../stats/index.js'
import {CLOSE, nothingToTell} from '../../averaging.js'
import {causalLabel, inputsLabel, troubleItems, variantLabel} from '../../labels.js'
import type {CompletedTune, TuneRecord, Variant} from '../schema.js'
import {errorRatio, layersOf, type VariantRow, variantRows} from './rows.js'

/** Layers with a column, and reasons why there are no others. */
const [MOST_LAYERS, MOST_REASONS] = [6, 2]

export function tuneScreen(records: readonly TuneRecord[]): Block[] {
  const rows = records.filter(record => record.status === 'completed')
  const notes = troubleItems(records).slice(0, MOST_REASONS)
  if (rows.length === 0) return list(notes)
  return fittedScreen({
    title: text(titleOf(rows)),
    answer: tuneSentences(records),
    table: () => ({
      blocks: [table(columnsOf(rows, MOST_LAYERS), variantRows(rows))],
      below: [`Held-out errors: ${meaning(rows)}`],
    }),
    notes,
  })
}

/** What errors and intervals are. */
export function meaning(rows: readonly CompletedTune[]): string {
  const {held_out_texts: texts} = rows[0]!.result
  const count = new Set(rows.flatMap(row => row.result.errors.map(({replicate}) => replicate))).size
  const intervals =
    texts > 1
      ? `95 % intervals over ${texts} texts and ${plural(count, 'draw')}.`
      : 'no intervals, which take several texts.'
  return `rel L2 over all heads; ${intervals}`
}

export function titleOf(rows: readonly CompletedTune[]): string {
  const {cell, result} = rows[0]!
  const learned = {temperature: 'temperatures', maps: 'maps', rows: 'random vectors'}
  const what = cell.learn === 'maps,rows' ? 'maps and random vectors' : learned[cell.learn]
  const layers = layersOf(rows).length
  const sizes = [
    ...(layers > 1 ? [plural(layers, 'layer')] : []),
    `${plural(result.heads, 'head')} of ${result.head_dim}`,
    causalLabel(cell.causal, cell.causal),
    ...(cell.causal && cell.causal_align
      ? [`queries are the ${cell.causal_align === 'end' ? 'last' : 'first'} tokens`]
      : []),
  ]
  const texts =
    result.held_out_by === 'texts'
      ? `${plural(result.learned_texts, 'text')} to learn on, ${result.held_out_texts} held out`
      : `${result.learned_tokens} tokens to learn on, ${result.held_out_tokens} held out`
  const goal = cell.loss === 'rows' ? ' for rows of attention' : ''
  const order = cell.original ? ', layers in turn' : ''
  return `${variantLabel(cell)}, ${what} learned${goal}${order}; ${inputsLabel(rows.map(row => row.cell.input))}: ${sizes.join(', ')}; ${texts}`
}

/** The answer: held-out errors before and after, those of rivals, and what it costs. */
export function tuneSentences(records: readonly TuneRecord[]): string[] {
  const rows = records.filter(record => record.status === 'completed')
  if (rows.length === 0) return []
  const found = new Map(variantRows(rows).map(row => [row.variant, row]))
  const average = found.get('mean_value')?.all.mean ?? Infinity
  return [
    ...(average <= CLOSE
      ? [nothingToTell(average)]
      : [changeSentence(found), ...rivalSentences(found)]),
    costSentence(rows),
    ...endSentences(rows),
  ]
}

type Rows = ReadonlyMap<Variant, VariantRow>

/** What learning does, or that what was learned is of no use. */
function changeSentence(found: Rows): string {
  const [before, after] = [found.get('untuned')!, found.get('tuned')!]
  const useless = yardstickBelow(after, found)
  if (useless) {
    return `Still useless after learning: ${percent(after.all)} off; ${useless}.`
  }
  const isLower = (after.all.mean ?? Infinity) < (before.all.mean ?? Infinity)
  if (!isLower) {
    return `Learning does not lower the held-out error: it is ${percent(before.all)} before, ${percent(after.all)} after.`
  }
  const {value, low, high} = errorRatio(after, before)
  const factor = Number.isFinite(high)
    ? `, ${significant(value, 2)}x [${significant(low, 2)}, ${significant(high, 2)}]`
    : ''
  return `Learning lowers the held-out error from ${percent(before.all)} to ${percent(after.all)}${factor}.`
}

/** The yardstick that is no worse than a row, in words: a zero output, which no record needs to have, or averaging V. */
function yardstickBelow({all: {mean}}: VariantRow, found: Rows): string | undefined {
  if (mean === null || mean >= 1) return 'a zero output is 100 % off'
  const average = found.get('mean_value')?.all.mean ?? Infinity
  return mean >= average ? `averaging V is ${significant(100 * average, 2)} % off` : undefined
}

/** What needs no learning, in a sentence. */
const FREE: Partial<Record<Variant, string>> = {temperature: 'the best temperatures'}

/** More random vectors, and the best of what needs no learning, if it is better than nothing for certain. */
function rivalSentences(found: Rows): string[] {
  const more = found.get('more_features')
  const free = (['temperature', 'oprf', 'saderf'] as const)
    .flatMap(variant => found.get(variant) ?? [])
    .toSorted((a, b) => (a.all.mean ?? Infinity) - (b.all.mean ?? Infinity))[0]
  return [
    ...(more ? [`${more.label} untuned: ${percent(more.all)}.`] : []),
    ...(free ? [freeSentence(free, found)] : []),
  ]
}

function freeSentence(free: VariantRow, found: Rows): string {
  const best = `Best without learning: ${FREE[free.variant] ?? free.variant}, ${percent(free.all)}`
  const others = (['untuned', 'mean_value', 'zero'] as const).flatMap(
    variant => found.get(variant) ?? [],
  )
  const alike = tiesWith(free, others, (a, b) => byInterval(endsOf(errorRatio(a, b))))
  const names = alike.map(({label}) => label)
  return names.length > 0 ? `${best}, no better than ${listed(names)}, within noise.` : `${best}.`
}

/** What it takes to run what was learned. */
function costSentence(rows: readonly CompletedTune[]): string {
  const {learn} = rows[0]!.cell
  const seconds = rows.reduce((sum, {result}) => sum + result.seconds, 0)
  const time = `Learning took ${significant(seconds, 2)} s in all`
  if (learn === 'rows') return `${time}; the learned vectors cost no more than random ones.`
  const maps = learn === 'temperature' ? 'factors' : 'maps'
  return `${time}; it costs nothing at run time: ${maps} fold into weights.`
}

/** What ended learning before its time, or would have gone on. */
function endSentences(rows: readonly CompletedTune[]): string[] {
  const ended = (stop: CompletedTune['result']['stopped']) =>
    rows.filter(({result}) => result.stopped === stop).length
  const [infinite, cut] = [ended('not_finite'), ended('interrupted')]
  const falls = rows.filter(
    ({result}) => result.stopped === 'steps' && result.best_step === result.steps_taken,
  ).length
  const of = `of ${plural(rows.length, 'cell')}`
  return [
    ...(infinite > 0
      ? [`In ${infinite} ${of} a loss was not finite: the best parameters before it are kept.`]
      : []),
    ...(cut > 0 ? [`${cut} ${of} ended early: the best parameters so far are kept.`] : []),
    ...(falls > rows.length / 2 ? ['More steps would lower the error further.'] : []),
  ]
}

/** Columns of errors. @param most - layers that have one */
export function columnsOf(
  rows: readonly CompletedTune[],
  most = Infinity,
): ColumnSpec<VariantRow>[] {
  const layers = layersOf(rows).map(([layer]) => layer)
  return [
    {title: 'method', align: 'left', cell: ({label}) => label},
    {title: 'held-out error', cell: ({all}) => percent(all)},
    ...(layers.length > 1 ? evenly(layers, most) : []).map(
      (layer): ColumnSpec<VariantRow> => ({
        title: layers.length > 3 ? `l.${layer}` : `layer ${layer}`,
        cell: row => {
          const {error} = row.layers.find(own => own.layer === layer)!
          return error === null ? MISSING : significant(100 * error, 2)
        },
      }),
    ),
  ]
}

/** `62 % [58, 66]`. */
export function percent({mean, low, high}: MeanInterval): string {
  if (mean === null) return 'not finite'
  const [own, from, to] = [mean, low, high].map(value =>
    value === null ? '' : significant(100 * value, 2),
  )
  const isPoint = low === null || high === null || low === high
  return isPoint ? `${own} %` : `${own} % [${from}, ${to}]`
}
