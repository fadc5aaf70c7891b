/** Times over lengths, as claims about growth read them. */
import type {TimedRecord} from '../experiments/bench/schema.js'
import {type Estimate, slopeEstimate} from '../stats/index.js'
import {Unmeasured} from './runs.js'

/** Records of one method, by length. */
export function ofMethod(records: readonly TimedRecord[], method: string): TimedRecord[] {
  const own = records.filter(({cell}) => cell.method === method)
  return own.sort((a, b) => a.cell.seq_len - b.cell.seq_len)
}

/** Median time with its interval. @throws {Unmeasured} where there were too few runs for one */
export function timeOf({cell, result}: TimedRecord): Estimate {
  const {median_ns: value, median_low_ns: low, median_high_ns: high} = result
  if (low === null || high === null) {
    throw new Unmeasured(
      `${cell.method} at L = ${cell.seq_len}: ${result.runs} runs have no interval`,
    )
  }
  return {value, low, high}
}

/** Exponent of time in length over the longest lengths. @param count - of them, at least two */
export function growth(records: readonly TimedRecord[], count: number): Estimate {
  const last = records.slice(-count)
  return slopeEstimate(
    last.map(({cell}) => cell.seq_len),
    last.map(timeOf),
  )
}

/** Exponent of the bytes of a call in length over the longest lengths, counted. */
export function memoryGrowth(records: readonly TimedRecord[], count: number): number {
  const last = records.slice(-count)
  const exact = (value: number) => ({value, low: value, high: value})
  return slopeEstimate(
    last.map(({cell}) => cell.seq_len),
    last.map(({result}) => exact(result.live_bytes)),
  ).value
}
