/** The report of decodes: time to some number of tokens, latency of one, state, and speed-ups over exact attention. */

import {isSettled} from '../../../../answers/index.js'
import {type Block, type ColumnSpec, heading, list, table} from '../../../../report/document.js'
import {bytes, MISSING, nanoseconds, significant} from '../../../../report/numbers.js'
import type {Estimate} from '../../../../stats/index.js'
import {BASELINES} from '../../fields/baselines.js'
import {headsText, keyHeads} from '../../fields/grouped.js'
import type {DecodeMark} from '../../fields/token-marks.js'
import type {TimedRecord} from '../../schema.js'
import type {PairedTimes} from '../../times/paired-times.js'
import {backendColumns, byBackend, lineLabel} from '../lines/backends.js'
import {type Crossover, crossover} from '../lines/crossover.js'
import {decodeTo} from '../lines/decode-to.js'
import {modelText} from '../lines/model.js'
import {ratioText, timeText, VARIANT_COLUMNS} from '../lines/variants.js'
import {leastState, leastToken, leastTotal} from './best.js'
import {oddityItems, shareText, unsettledItem} from './notes.js'

export const DECODE_LEGEND =
  'to t: time of the tokens up to the t-th, without the first one, in which a decoder is made ready (column first); token: time of one token there, for all sequences; state: bytes kept between tokens, in a cache with room for all keys and values.'

/** One shape. @param rows - of decodes, in order @param times - of the whole run */
export function decodeSection(rows: readonly TimedRecord[], times: PairedTimes): Block[] {
  const {cell} = rows[0]!
  const {batch, head_dim, value_dim} = cell
  const model = modelText(rows[0]!)
  return [
    heading(
      2,
      `Decoding token by token${model ? `: ${model}` : ''}, B=${batch} ${headsText(cell)} D=${head_dim} Dv=${value_dim}`,
    ),
    table(totalColumns(rows, times), rows),
    ...latencyBlocks(rows),
    ...byBackend(rows).flatMap(own => gainBlocks(own, rows, times)),
    ...list([...unsettled(rows, times), ...repeatedHeads(rows[0]!), ...oddityItems(rows)]),
  ]
}

/** What a cache of repeated heads does to gains. */
function repeatedHeads({cell}: TimedRecord): string[] {
  const groups = cell.heads / keyHeads(cell)
  if (groups === 1) return []
  return [
    `the cache of exact attention keeps each head of keys ${groups} times; against one that shares them, gains in time and state are up to ${groups}x smaller`,
  ]
}

/** The exact form that a row is compared with; `undefined` for that itself. */
export function exactDecode(
  row: TimedRecord,
  all: readonly TimedRecord[],
): TimedRecord | undefined {
  const exact = all.find(
    ({cell, result}) => BASELINES.includes(cell.method) && result.backend === row.result.backend,
  )
  return exact === row ? undefined : exact
}

function markAt({result}: TimedRecord, tokens: number): DecodeMark | undefined {
  return result.marks?.find(mark => mark.tokens === tokens)
}

/** Time from behind the first token to the last one of a mark. */
function totalOf({total_ns, total_low_ns, total_high_ns}: DecodeMark): Estimate {
  return estimateOf(total_ns, total_low_ns, total_high_ns)
}

function tokenOf({token_ns, token_low_ns, token_high_ns}: DecodeMark): Estimate {
  return estimateOf(token_ns, token_low_ns, token_high_ns)
}

function estimateOf(value: number, low: number | null, high: number | null): Estimate {
  return {value, low: low ?? Number.NaN, high: high ?? Number.NaN}
}

/**
 * How many times faster than an exact form a row reaches a number of tokens; `null` where either was not measured there.
 */
export function decodeGain(
  row: TimedRecord,
  exact: TimedRecord,
  tokens: number,
  times: PairedTimes,
): Estimate | null {
  const [own, other] = [decodeTo(row, tokens), decodeTo(exact, tokens)]
  return own && other ? times.ratio(other, own) : null
}

function lengthsOf(rows: readonly TimedRecord[]): number[] {
  const all = rows.flatMap(({cell}) => cell.lengths ?? [])
  return [...new Set(all)].sort((a, b) => a - b)
}

function marksOf(rows: readonly TimedRecord[]): number[] {
  const all = rows.flatMap(({result}) => result.marks ?? [])
  return [...new Set(all.map(({tokens}) => tokens))].sort((a, b) => a - b)
}

/** Times to each length, and at the longest all else. */
function totalColumns(rows: readonly TimedRecord[], times: PairedTimes): ColumnSpec<TimedRecord>[] {
  const lengths = lengthsOf(rows)
  const last = lengths.at(-1)!
  const atLast = (tell: (mark: DecodeMark) => string) => (row: TimedRecord) => {
    const mark = markAt(row, last)
    return mark ? tell(mark) : MISSING
  }
  const backends = backendColumns(rows, times, row => decodeTo(row, last))
  const exact = rows.find(({cell}) => BASELINES.includes(cell.method))
  return [
    ...VARIANT_COLUMNS,
    ...backends.name,
    ...lengths.map(
      (tokens): ColumnSpec<TimedRecord> => ({
        title: `to ${tokens}`,
        // the longest stays longest
        priority: tokens === last ? 0 : 2,
        cell: row => {
          const mark = markAt(row, tokens)
          return mark ? timeText(totalOf(mark)) : MISSING
        },
        best: leastTotal(times, row => decodeTo(row, tokens)),
      }),
    ),
    ...(exact ? [gainColumn(rows, last, `vs ${exact.cell.method}`, times)] : []),
    ...backends.gain,
    {title: `token ${last}`, priority: 1, cell: atLast(mark => timeText(tokenOf(mark)))},
    {
      title: 'state',
      cell: atLast(({state_bytes}) => bytes(state_bytes)),
      best: leastState(row => markAt(row, last)?.state_bytes),
    },
    {
      title: 'tokens/s',
      priority: 3,
      cell: atLast(({tokens_per_second}) => significant(tokens_per_second)),
    },
    {title: 'first', priority: 4, cell: ({result}) => nanoseconds(result.first_token_ns ?? null)},
  ]
}

function gainColumn(
  all: readonly TimedRecord[],
  tokens: number,
  title: string,
  times: PairedTimes,
): ColumnSpec<TimedRecord> {
  const cell = (row: TimedRecord) => {
    const exact = exactDecode(row, all)
    return ratioText(exact ? decodeGain(row, exact, tokens, times) : null)
  }
  return {title, cell, sparse: true}
}

/** Time of one token by those so far. */
function latencyBlocks(rows: readonly TimedRecord[]): Block[] {
  const marks = marksOf(rows).filter(tokens => Number.isInteger(Math.log2(tokens)))
  return [
    heading(3, 'Time of one token, by the tokens so far'),
    table(
      [
        {title: 'method', align: 'left', cell: row => lineLabel(row, rows)},
        ...marks.map(
          (tokens, at): ColumnSpec<TimedRecord> => ({
            title: String(tokens),
            // every other octave goes first, the longest last
            priority: at === marks.length - 1 ? 0 : (marks.length - at) % 2 === 0 ? 2 : 1,
            cell: row => {
              const mark = markAt(row, tokens)
              return mark ? timeText(tokenOf(mark)) : MISSING
            },
            best: leastToken(row => {
              const mark = markAt(row, tokens)
              return mark && tokenOf(mark)
            }),
          }),
        ),
      ],
      rows,
    ),
  ]
}

/** Speed-ups over exact attention by length, and from where on there is one. */
function gainBlocks(
  own: readonly TimedRecord[],
  all: readonly TimedRecord[],
  times: PairedTimes,
): Block[] {
  const exact = own.find(({cell}) => BASELINES.includes(cell.method))
  if (!exact) return []
  const rows = own.filter(row => row !== exact)
  const lengths = lengthsOf(own)
  const found = rows.filter(row => decodeGain(row, exact, lengths.at(-1)!, times) !== null)
  if (found.length === 0) return []
  const columns = lengths.map(tokens => gainColumn(own, tokens, `to ${tokens}`, times))
  return [
    heading(3, `Speed-up over ${lineLabel(exact, all)}`),
    table([{title: 'method', align: 'left', cell: row => lineLabel(row, all)}, ...columns], found),
    ...list(
      found.flatMap(row =>
        decodeCrossover(row, exact, times).map(
          ({statement}) => `${lineLabel(row, all)} ${statement}`,
        ),
      ),
    ),
  ]
}

/** From how many tokens on a row is faster than an exact form; nothing where they were looked at nowhere alike. */
export function decodeCrossover(
  row: TimedRecord,
  exact: TimedRecord,
  times: PairedTimes,
): (Crossover & {baseline: string})[] {
  const points = marksOf([row]).flatMap(length => {
    const gain = decodeGain(row, exact, length, times)
    return gain === null ? [] : [{length, gain}]
  })
  const baseline = exact.cell.method
  return points.length === 0 ? [] : [{baseline, ...crossover(points, baseline)}]
}

function unsettled(rows: readonly TimedRecord[], times: PairedTimes): string[] {
  const gains = rows.flatMap(row => {
    const exact = exactDecode(row, rows)
    return exact ? lengthsOf([row]).flatMap(at => decodeGain(row, exact, at, times) ?? []) : []
  })
  const open = gains.filter(gain => !isSettled(gain)).length
  const told = shareText(open, gains.length, 'speed-up')
  return told === null ? [] : [unsettledItem([told], rows)]
}
