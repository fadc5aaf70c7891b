/** Advice as tables and sentences. */

import {YARDSTICK} from '../experiments/averaging.js'
import {viewOf} from '../experiments/axes.js'
import {causalLabel, cornerText} from '../experiments/labels.js'
import {commandText, typeablePath} from '../report/command-line.js'
import {type Block, heading, type Item, list, table, text} from '../report/document.js'
import {groupBy} from '../report/groups.js'
import {bytes, MISSING, nanoseconds, significant} from '../report/numbers.js'
import {capital, listed} from '../report/words.js'
import type {Estimate} from '../stats/index.js'
import {reasonOf} from './not-tried.js'
import type {Advice, AdviceCandidate, HeadAdvice, LayerAdvice} from './schema.js'
import {errorText, exactError, isUnsettled, lengthText, speedText} from './words.js'

/** What was typed, for the commands that look at a recommendation again. */
export interface AsTyped {
  /** Name of the program. */
  bin: string
  /** Flags of `error-sweep` that say which input is meant, word by word. */
  input: readonly string[]
}

/**
 * Tables and sentences of all layers, what they rest on, and commands.
 *
 * @param typed - how the input was named. Default: that is not known any more, and no command is given
 */
export function adviceReport(advice: Advice, typed?: AsTyped): Block[] {
  const several = advice.layers.length > 1
  return [
    titleOf(advice),
    ...advice.layers.flatMap(layer => layerBlocks(layer, advice, several)),
    ...list([...basis(advice), ...warnings(advice), ...untried(advice)]),
    ...list(typed ? advice.layers.flatMap(layer => again(layer, advice, typed)) : []),
  ]
}

/** What was asked. */
export function titleOf({input, seq_len, ran_causal, query_len, key_len, ...asked}: Advice): Block {
  const view = viewOf(asked)
  const corner = cornerText({queryLen: query_len, keyLen: key_len}, view)
  const seen = `${causalLabel(view.causal, ran_causal)}${corner}`
  return heading(1, `Advice on ${input} at L=${seq_len}, ${seen}`)
}

function layerBlocks(layer: LayerAdvice, advice: Advice, several: boolean): Block[] {
  return [
    ...(several ? [heading(2, `Layer ${layer.layer}`)] : []),
    text(layer.statement),
    frontTable(layer, advice),
    text(headsText(layer, advice)),
    headTable(layer, advice),
    ...list(layer.changes.map(({statement}) => statement)),
  ]
}

/** A row of the front: a candidate or an exact form. */
export type FrontRow = Pick<
  AdviceCandidate,
  'label' | 'error' | 'error_low' | 'error_high' | 'time_ns' | 'time_from' | 'live_bytes'
> &
  Partial<Pick<AdviceCandidate, Gain | Crossover>>
type Gain = 'gain' | 'gain_low' | 'gain_high'
type Crossover = 'crossover_len' | 'crossover_low_len' | 'crossover_high_len'

/** Exact forms as rows of the front. */
export function exactRows({exact}: Advice): FrontRow[] {
  return exact.map(({form, ...cost}) => ({label: form, ...EXACT_ERROR, ...cost}))
}

/** What nothing else beats, with the exact forms and averaging V. */
function frontTable(layer: LayerAdvice, advice: Advice): Block {
  const {metric} = advice
  return table<FrontRow>(
    [
      {title: 'method', align: 'left', cell: ({label}) => label},
      {
        title: metric === 'rel_l2' ? 'error' : metric,
        cell: row => (row.error === 0 ? 'exact' : errorText(metric, errorOf(row))),
      },
      {title: 'time', cell: ({time_ns}) => nanoseconds(time_ns)},
      {title: 'from', align: 'left', priority: 2, cell: ({time_from}) => time_from},
      {title: 'speed-up', cell: row => speedText(gainOf(row))},
      {title: 'faster from L', priority: 1, cell: crossoverText},
      {title: 'memory', priority: 1, cell: row => bytes(row.live_bytes)},
    ],
    [...exactRows(advice), ...shownOf(layer)],
  )
}

/** What is on the front, and averaging V. */
function shownOf({candidates}: LayerAdvice): AdviceCandidate[] {
  return candidates.filter(one => one.on_front || one.method === YARDSTICK)
}

const EXACT_ERROR = {error: 0, error_low: 0, error_high: 0}

/** What JSON has as `null` is not known; an end alone that is missing is unbounded where `open`. */
function estimateOf(
  [value, low, high]: readonly (number | null | undefined)[],
  open = Number.NaN,
): Estimate {
  return {value: value ?? Number.NaN, low: low ?? Number.NaN, high: high ?? open}
}

function errorOf({error, error_low, error_high}: HeadError): Estimate {
  return estimateOf([error, error_low, error_high])
}
type HeadError = Pick<AdviceCandidate, 'error' | 'error_low' | 'error_high'>

/** A speed-up as documents have it, with its interval. */
export function gainOf({
  gain,
  gain_low,
  gain_high,
}: Partial<Pick<AdviceCandidate, Gain>>): Estimate {
  return estimateOf([gain, gain_low, gain_high])
}

function crossoverText(row: FrontRow): string {
  const {crossover_len: value = null, crossover_low_len: low, crossover_high_len: high} = row
  return value === null
    ? MISSING
    : lengthText(estimateOf([value, low, high], Number.POSITIVE_INFINITY))
}

/** In which heads attention is nearly uniform, where not in all, and which can be replaced. */
export function headsText(
  {candidate, heads, mixed, uniform_heads: uniform}: LayerAdvice,
  {budget_ms}: Advice,
): string {
  const late = mixed !== null && budget_ms !== null && mixed.time_ns > 1e6 * budget_ms
  const some = uniform.length > 0 && uniform.length < heads.length
  const names = headList(mixed?.replaced_heads ?? [], heads.length)
  // the whole layer may be within the tolerance, and a head of it not
  const replaced = candidate === null ? capital(names) : `Chosen head by head, ${names}`
  const sentences = [
    ...(some ? [`Attention is nearly uniform in ${headList(uniform)}.`] : []),
    mixed
      ? `${replaced} can be replaced: ${speedText(gainOf(mixed))} as fast as exact attention of all heads (predicted)${late ? ', but over the budget' : ''}.`
      : 'No head can be replaced.',
  ]
  return sentences.join(' ')
}

/** Each head with what to take for it. */
function headTable({heads}: LayerAdvice, {metric}: Advice): Block {
  return table<HeadAdvice>(
    [
      {title: 'head', cell: ({head}) => String(head)},
      {title: 'take', align: 'left', cell: takeText},
      {
        title: metric === 'rel_l2' ? 'error' : metric,
        cell: head => errorText(metric, errorOf(head)),
        tells: ({error}) => error !== null,
      },
      {title: 'speed-up', cell: head => speedText(gainOf(head)), tells: ({gain}) => gain !== null},
    ],
    heads,
  )
}

/** `favor-pos orth M=64`, or `exact (no faster)`. */
export function takeText({candidate, obstacle}: Pick<HeadAdvice, 'candidate' | 'obstacle'>) {
  return candidate ?? `exact (${WHY[obstacle!]})`
}

const MOST_HEADS = 9

const WHY = {
  error: 'nothing is accurate enough',
  mean: 'no better than averaging V',
  time: 'no faster',
  budget: 'over budget',
}

/** `head 3`, `heads 0 and 2`, `every head`. @param all - how many there are */
export function headList(heads: readonly number[], all = Number.POSITIVE_INFINITY): string {
  if (heads.length === all) return 'every head'
  return `${heads.length === 1 ? 'head' : 'heads'} ${listed(heads.map(String), MOST_HEADS)}`
}

/** What a reader of the table has to know. */
export function warnings(advice: Advice): string[] {
  const {query_len, key_len, seq_len, layers, left_out} = advice
  const unsettled = layers.some(layer => shownOf(layer).some(one => isUnsettled(gainOf(one))))
  return [
    ...(unsettled
      ? [
          'a speed-up shown as a range is unsettled (its 95 % interval is wider than ±25 %): run again on a quiet machine, in another folder',
        ]
      : []),
    ...(seq_len === query_len
      ? []
      : [
          `errors at L=${seq_len} are assumed to equal those of the file, at L=${query_len}; methods with windows or landmarks have none there`,
        ]),
    ...(layers.some(({candidates}) => candidates.some(({parameters}) => parameters !== null))
      ? [
          'tuned methods err less on the tokens that they learned from than on others: give others as the input',
        ]
      : []),
    ...(query_len === key_len
      ? []
      : [`times are for the same number of keys as queries; the file has ${key_len} keys`]),
    ...left_out.map(reason => `left out: ${reason}`),
  ]
}

function untried({not_tried: names}: Advice): string[] {
  return names.length > 0 ? [`methods that were not tried: --methods ${names.join(',')}`] : []
}

/** What the numbers rest on. */
function basis(advice: Advice): string[] {
  const {query_len, seq_len, timed_lens, tolerance, metric, budget_ms, not_tried} = advice
  const budget = budget_ms === null ? '' : `, ${significant(budget_ms)} ms at most`
  const predicted = timed_lens.includes(seq_len) ? 'measured at' : 'predicted from'
  return [
    `asked for: ${metric} of at most ${exactError(metric, tolerance)}${budget}; an error counts by the upper end of its interval, a speed-up by the lower one`,
    `errors are measured on all heads and all ${query_len} queries of the file`,
    `times of ${advice.backend}, on made-up inputs of the same shape, ${predicted} L=${timed_lens.join(', ')}; speed-ups are over the faster exact form`,
    ...groupBy(not_tried, reasonOf).map(
      names => `not tried: ${names.join(', ')}: ${reasonOf(names[0]!)}`,
    ),
  ]
}

/** Commands that measure what is recommended once more. */
function again(layer: LayerAdvice, advice: Advice, {bin, input}: AsTyped): Item[] {
  const found = layer.candidates.find(({label}) => label === layer.candidate)
  if (!found) return []
  const {method, projection, num_features, parameters} = found
  const {batch, heads, head_dim, value_dim, seq_len} = advice
  const variant = [
    ...['--methods', method],
    ...(projection === null ? [] : ['--projections', projection]),
    ...(num_features === null ? [] : ['--num-features', String(num_features)]),
    ...(parameters === null ? [] : ['--parameters', typeablePath(parameters)]),
  ]
  const causal = advice.causal ? ['--causal'] : []
  const shape = Object.entries({
    '--seq-len': seq_len,
    '--batch': batch,
    '--heads': heads,
    '--head-dim': head_dim,
    '--value-dim': value_dim,
  }).flatMap(([flag, value]) => [flag, String(value)])
  const own = layer.layer === null ? [] : ['--layer', String(layer.layer)]
  const asked = advice.ran_causal && !advice.causal ? ['--no-causal'] : causal
  const corner = advice.causal_align ? ['--causal-align', advice.causal_align] : []
  const call = [...variant, ...asked, ...corner, '--targets', 'raw']
  const sweep = [bin, 'error-sweep', ...input, ...own, ...call]
  return [
    {label: 'its error again', command: commandText(sweep)},
    {
      label: 'its time again',
      command: commandText([bin, 'bench', ...variant, ...causal, ...shape]),
    },
  ]
}
