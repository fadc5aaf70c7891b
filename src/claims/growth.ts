/** Times over lengths, as claims about growth read them. */

import type {TimedRecord} from '../experiments/bench/schema.js'
import {exponentParts, type PairedTimes} from '../experiments/bench/times/paired-times.js'
import {logLogSlope} from '../stats/index.js'
import {type Measured, measuredSum} from './measured.js'

/** Records of one method, by length. */
export function ofMethod(records: readonly TimedRecord[], method: string): TimedRecord[] {
  const own = records.filter(({cell}) => cell.method === method)
  return own.sort((a, b) => a.cell.seq_len - b.cell.seq_len)
}

/** Exponent of time in length over the longest lengths. @param count - of them, at least two */
export function growth(
  times: PairedTimes,
  records: readonly TimedRecord[],
  count: number,
): Measured {
  return measuredSum(times.sum(exponentParts(records.slice(-count))))
}

/** Exponent of the time of some records over that of others, at the same lengths. */
export function relativeGrowth(
  times: PairedTimes,
  records: readonly TimedRecord[],
  others: readonly TimedRecord[],
): Measured {
  return measuredSum(times.sum([...exponentParts(records), ...exponentParts(others, -1)]))
}

/** An exponent with its interval, to hundredths: `0.95 [0.93, 0.97]`. */
export function exponentText({value, low, high}: Measured): string {
  return `${value.toFixed(2)} [${low.toFixed(2)}, ${high.toFixed(2)}]`
}

/** Exponent of the bytes of a call in length over the longest lengths, counted. */
export function memoryGrowth(records: readonly TimedRecord[], count: number): number {
  const last = records.slice(-count)
  return logLogSlope(
    last.map(({cell}) => cell.seq_len),
    last.map(({result}) => result.live_bytes ?? Number.NaN),
  ).slope
}
