/** Times turn by turn: cells that take turns were disturbed alike in each of them, and their ratios were not. */
import {mean, median} from '../../stats/index.js'
import type {TimedRecord} from './schema.js'

/** A record in a sum of logarithms. */
export interface Weighted {
  record: TimedRecord
  weight: number
}

/** Fewest turns that have an interval of their own. */
export const LEAST_TURNS = 6

/** What of a record its turns stand in. */
interface InTurns {
  result: Pick<TimedRecord['result'], 'samples_ns' | 'turn_runs'>
}

/** Median of the runs of each turn, in ns; one for all where turns were not recorded. */
export function turnMedians({result: {samples_ns, turn_runs}}: InTurns): number[] {
  const counts = turn_runs.length > 0 ? turn_runs : [samples_ns.length]
  let end = 0
  return counts.map(count => {
    end += count
    return median(samples_ns.slice(end - count, end))
  })
}

/**
 * A decode as a record of the time up to some of its tokens, in the same turns.
 *
 * @returns `undefined` where it was not looked at there
 */
export function decodeTo(
  {cell, result, ...rest}: TimedRecord,
  tokens: number,
): TimedRecord | undefined {
  const mark = result.marks?.find(one => one.tokens === tokens)
  if (!mark) return undefined
  const {total_ns, total_low_ns, total_high_ns, total_samples_ns} = mark
  // waiting falls on tokens as time does
  const share = Math.min(1, total_ns / result.median_ns)
  const waited_ns = result.waited_ns === null ? null : result.waited_ns * share
  const median = {median_ns: total_ns, median_low_ns: total_low_ns, median_high_ns: total_high_ns}
  return {
    ...rest,
    cell: {...cell, seq_len: tokens},
    result: {...result, ...median, waited_ns, samples_ns: total_samples_ns},
  }
}

/**
 * Weighted sum of the logarithms of times, in each turn that all of the records have: ratios, exponents, and what else is
 * a product of powers of times.
 */
export function logTimesByTurn(parts: readonly Weighted[]): Float64Array {
  const medians = parts.map(({record}) => turnMedians(record))
  const turns = Math.min(...medians.map(({length}) => length))
  return Float64Array.from({length: turns}, (_, turn) =>
    parts.reduce((sum, {weight}, at) => sum + weight * Math.log(medians[at]![turn]!), 0),
  )
}

/** The same with the weights of a least-squares slope: the exponent of time in length. @param weight - of all */
export function exponentParts(records: readonly TimedRecord[], weight = 1): Weighted[] {
  const logs = records.map(({cell}) => Math.log(cell.seq_len))
  const center = mean(logs)
  const spread = logs.reduce((sum, log) => sum + (log - center) ** 2, 0)
  return records.map((record, at) => ({record, weight: (weight * (logs[at]! - center)) / spread}))
}
