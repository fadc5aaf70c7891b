/** Advice as tables and sentences. */

import {commandText} from '../report/command-line.js'
import {type Block, heading, type Item, list, table, text} from '../report/document.js'
import {bytes, MISSING, nanoseconds, ratio, significant, withInterval} from '../report/numbers.js'
import type {Advice, AdviceCandidate, HeadAdvice, LayerAdvice} from './schema.js'

/** What was typed, for the commands that look at a recommendation again. */
export interface AsTyped {
  /** Name of the program. */
  bin: string
  /** Flags of `error-sweep` that say which input is meant, word by word. */
  input: readonly string[]
}

/** All of it. @param typed - default: nobody knows any more how the input was named, and no command is told */
export function adviceReport(advice: Advice, typed?: AsTyped): Block[] {
  const several = advice.layers.length > 1
  return [
    heading(1, `Advice on ${advice.input} at L=${advice.seq_len}`),
    ...advice.layers.flatMap(layer => layerBlocks(layer, advice, several)),
    ...list(notes(advice)),
    ...list(typed ? advice.layers.flatMap(layer => again(layer, advice, typed)) : []),
  ]
}

function layerBlocks(layer: LayerAdvice, advice: Advice, several: boolean): Block[] {
  return [
    ...(several ? [heading(2, `Layer ${layer.layer}`)] : []),
    text(`${capital(layer.statement)}.`),
    frontTable(layer, advice),
    ...headBlocks(layer, advice),
    ...list(layer.changes.map(({statement}) => statement)),
  ]
}

const capital = (words: string) => words[0]!.toUpperCase() + words.slice(1)

/** A row of the front: a candidate or an exact form. */
type FrontRow = Pick<
  AdviceCandidate,
  'label' | 'error' | 'error_low' | 'error_high' | 'time_ns' | 'time_from' | 'live_bytes'
> &
  Partial<Pick<AdviceCandidate, 'gain' | 'crossover_len'>>

function frontTable({candidates}: LayerAdvice, {exact, metric}: Advice): Block {
  const forms = exact.map(({form, ...cost}) => ({label: form, ...EXACT_ERROR, ...cost}))
  const rows: FrontRow[] = [...forms, ...candidates.filter(one => one.on_front)]
  return table<FrontRow>(
    [
      {title: 'front', align: 'left', cell: ({label}) => label},
      {
        title: metric,
        cell: ({error, error_low, error_high}) =>
          error === 0 ? '0' : withInterval(error, error_low, error_high),
      },
      {title: 'time', cell: ({time_ns}) => nanoseconds(time_ns)},
      {title: 'from', align: 'left', priority: 2, cell: ({time_from}) => time_from},
      {title: 'speed-up', cell: ({gain}) => ratio(gain ?? null)},
      {
        title: 'faster from L',
        priority: 1,
        cell: row => ('crossover_len' in row ? significant(row.crossover_len) : MISSING),
      },
      {title: 'memory', priority: 1, cell: row => bytes(row.live_bytes)},
    ],
    rows,
  )
}

const EXACT_ERROR = {error: 0, error_low: 0, error_high: 0}

function headBlocks({heads, mixed}: LayerAdvice, {metric, budget_ms}: Advice): Block[] {
  const late = mixed !== null && budget_ms !== null && mixed.time_ns > 1e6 * budget_ms
  const told = mixed
    ? `${mixed.replaced_heads.length === 1 ? 'Head' : 'Heads'} ${mixed.replaced_heads.join(', ')} can be replaced, each by its own: ${significant(mixed.gain)} times as fast as exact attention of all heads (predicted from shares of the times above)${late ? ', but above the budget' : ''}.`
    : 'No head can be replaced.'
  return [
    text(told),
    table<HeadAdvice>(
      [
        {title: 'head', cell: ({head}) => String(head)},
        {
          title: 'take',
          align: 'left',
          cell: ({candidate, obstacle}) => candidate ?? `exact (${WHY[obstacle!]})`,
        },
        {
          title: metric,
          cell: ({error, error_low, error_high}) => withInterval(error, error_low, error_high),
          tells: ({error}) => error !== null,
        },
        {
          title: 'speed-up',
          cell: ({gain}) => ratio(gain),
          tells: ({gain}) => gain !== null,
        },
        {
          title: 'front',
          align: 'left',
          flexible: true,
          priority: 2,
          cell: ({front}) => front.join(', '),
        },
      ],
      heads,
    ),
  ]
}

const WHY = {error: 'error', time: 'no faster', budget: 'over budget'}

function notes(advice: Advice): string[] {
  const {query_len, key_len, seq_len, timed_lens, tolerance, metric, budget_ms, left_out} = advice
  const predicted = !timed_lens.includes(seq_len)
  return [
    `asked for: ${metric} of at most ${significant(tolerance)}${budget_ms === null ? '' : `, ${significant(budget_ms)} ms at most`}; an error counts by the upper end of its interval, a speed-up by the lower one`,
    `errors are those of all heads and all ${query_len} queries of the file; none was left out`,
    ...(seq_len === query_len
      ? []
      : [`errors at L=${seq_len} are taken to be those of the file, L=${query_len}`]),
    ...(query_len === key_len
      ? []
      : [`times are of as many keys as queries; the file has ${key_len} keys`]),
    `times of ${advice.backend}, on made-up inputs of the same shape, ${predicted ? `predicted from L=${timed_lens.join(', ')}` : `measured at L=${timed_lens.join(', ')}`}; speed-ups are over the faster exact form`,
    ...left_out.map(reason => `left out: ${reason}`),
  ]
}

/** Commands that measure what is recommended once more. */
function again(layer: LayerAdvice, advice: Advice, {bin, input}: AsTyped): Item[] {
  const found = layer.candidates.find(({label}) => label === layer.candidate)
  if (!found) return []
  const {method, projection, num_features} = found
  const {batch, heads, head_dim, value_dim, seq_len} = advice
  const variant = [
    ...['--methods', method],
    ...(projection === null ? [] : ['--projections', projection]),
    ...(num_features === null ? [] : ['--num-features', String(num_features)]),
    ...(advice.causal ? ['--causal'] : []),
  ]
  const shape = Object.entries({
    '--seq-len': seq_len,
    '--batch': batch,
    '--heads': heads,
    '--head-dim': head_dim,
    '--value-dim': value_dim,
  }).flatMap(([flag, value]) => [flag, String(value)])
  const own = layer.layer === null ? [] : ['--layer', String(layer.layer)]
  const sweep = [bin, 'error-sweep', ...input, ...own, ...variant, '--targets', 'raw']
  return [
    {label: 'its error again', command: commandText(sweep)},
    {label: 'its time again', command: commandText([bin, 'bench', ...variant, ...shape])},
  ]
}
