/** Times of methods, their ratios and their growth with length, as claims about speed read them. */

import type {ConditionAnswer} from '../../answers/index.js'
import {isTold} from '../../answers/index.js'
import type {TimedRecord} from '../../experiments/bench/schema.js'
import {
  exponentParts,
  intervalOf,
  type LogTime,
  type PairedTimes,
  pAbove,
  pBelow,
} from '../../experiments/bench/times/paired-times.js'
import {significant, UNSETTLED} from '../../report/numbers.js'
import {type Estimate, logLogSlope, mapped} from '../../stats/index.js'
import {Unmeasured} from '../runs.js'
import type {Bounds} from './tests.js'

/** What was measured, and what it says of any bound. */
export type Measured = Estimate & Bounds

/** A sum of logarithms of times with its tests, by Student's t. @throws {Unmeasured} for one process */
export function measuredSum(time: LogTime): Measured {
  if (Number.isNaN(time.error)) {
    throw new Unmeasured('times were taken in one process; it takes several')
  }
  return {
    ...intervalOf(time),
    above: bound => pAbove(time, bound),
    below: bound => pBelow(time, bound),
  }
}

/** What it is the logarithm of. @throws as {@link measuredSum} */
export function measuredRatio(time: LogTime): Measured {
  const {above, below, ...estimate} = measuredSum(time)
  return {
    ...mapped(estimate, Math.exp),
    above: bound => above(Math.log(bound)),
    below: bound => below(Math.log(bound)),
  }
}

/** Records of one method, by length. @throws {Unmeasured} where there are none */
export function ofMethod(records: readonly TimedRecord[], method: string): TimedRecord[] {
  const timed = records.filter(({cell}) => cell.method === method)
  if (timed.length === 0) throw new Unmeasured(`there are no times of ${method}`)
  return timed.sort((a, b) => a.cell.seq_len - b.cell.seq_len)
}

export interface TimeRatio {
  length: number
  ratio: Measured
}

/**
 * Time of a method over that of another, process by process, at each length.
 *
 * @throws {Unmeasured} where one process took them, or a method has none
 */
export function timeRatios(
  times: PairedTimes,
  records: readonly TimedRecord[],
  method: string,
  other: string,
): TimeRatio[] {
  const others = ofMethod(records, other)
  return ofMethod(records, method).map((record, at) => ({
    length: record.cell.seq_len,
    ratio: measuredRatio(times.logRatio(record, others[at]!)),
  }))
}

/** `3.2x [3.0, 3.4] at 196, 1.9x [1.8, 2.0] at 784; not settled at 25`. @param answers - of each row */
export function ratiosText(
  rows: readonly TimeRatio[],
  answers: readonly ConditionAnswer[],
): string {
  const settled = rows.filter((_, at) => answers[at] !== 'open')
  const open = rows.filter((_, at) => answers[at] === 'open')
  const lengths = open.map(({length}) => length).join(', ')
  return [
    ...(settled.length > 0
      ? [settled.map(({length, ratio}) => `${timesText(ratio)} at ${length}`).join(', ')]
      : []),
    ...(open.length > 0 ? [`not settled at ${lengths}`] : []),
  ].join('; ')
}

/** A factor with its 95 % interval: `3.2x [3.0, 3.4]`. */
function timesText(ratio: Estimate): string {
  if (!isTold(ratio)) return UNSETTLED
  const {value, low, high} = ratio
  return `${significant(value)}x [${significant(low)}, ${significant(high)}]`
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
export function exponentText(exponent: Estimate): string {
  if (!isTold(exponent)) return UNSETTLED
  const {value, low, high} = exponent
  return `${value.toFixed(2)} [${low.toFixed(2)}, ${high.toFixed(2)}]`
}

/** Exponent of the bytes of a call in length over the longest lengths, counted. */
export function memoryGrowth(records: readonly TimedRecord[], count: number): number {
  const last = records.slice(-count)
  const lengths = last.map(({cell}) => cell.seq_len)
  const bytes = last.map(({result}) => result.live_bytes ?? Number.NaN)
  return logLogSlope(lengths, bytes).slope
}
