/** For numbers and ratios that are known by 95 % intervals alone, such as times of processes. */
import type {Estimate, Interval} from '../stats/index.js'
import {ALPHA, type Answer, differs} from './answer.js'

/** Ends of an interval as records have them. */
type Ends = {[End in keyof Interval]: number | null}

/** Ratios that count as none, for a relative difference that does. */
export function around(margin: number): Interval {
  return {low: 1 / (1 + margin), high: 1 + margin}
}

/** By an interval alone. @param none - what would be no difference. Default: a ratio of 1 */
export function byInterval({low, high}: Interval, none: Interval | number = 1): Answer {
  const [least, most] = typeof none === 'number' ? [none, none] : [none.low, none.high]
  if (low > most) return 'more'
  if (high < least) return 'less'
  return low >= least && high <= most ? 'same' : 'cannot_be_told'
}

/**
 * By the interval of a ratio and a test: `same` if the interval lies within the margin; `more` or `less` if the ratio is beyond the
 * margin and significant, or without a test its interval is.
 *
 * @param pValue - adjusted; `NaN` where there is no test
 */
export function byTest(ratio: Estimate, pValue: number, margin: number): Answer {
  const none = around(margin)
  const found = byInterval(ratio, none)
  if (found === 'same' || Number.isNaN(pValue)) return found
  const moved = byInterval({low: ratio.value, high: ratio.value}, none)
  return pValue <= ALPHA && differs(moved) ? moved : 'cannot_be_told'
}

/** By the intervals of two independent estimates: they differ where those do not overlap. */
export function byOverlap(a: Ends, b: Ends): Answer {
  if (isAbove(a, b)) return 'more'
  return isAbove(b, a) ? 'less' : 'cannot_be_told'
}

function isAbove({low}: Ends, {high}: Ends): boolean {
  return low !== null && high !== null && low > high
}

/** The interval of an estimate, or the number itself where it has none: then that counts. */
export function endsOf({value, low, high}: Estimate): Interval {
  return Number.isNaN(low) || Number.isNaN(high) ? {low: value, high: value} : {low, high}
}

/** Whether a number may be as low as a bound: what lies above is not distinguishable from it. Without an interval nothing is known. */
export function reaches({low}: Pick<Ends, 'low'>, bound: number): boolean {
  return low !== null && low <= bound
}

/** Whether a number is at most a bound for certain. */
export function isWithin({high}: Pick<Interval, 'high'>, bound: number): boolean {
  return high <= bound
}

/** Whether each of two medians lies beyond the interval of the other: only then may the first be higher, by a ratio that takes longer. */
export function mayBeHigher(a: Estimate, b: Estimate): boolean {
  return a.low > b.value && a.value > b.high
}
