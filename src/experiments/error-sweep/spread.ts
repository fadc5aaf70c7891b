/** What medians over replicates could as well have been, and which of them draws do not tell apart. */
import type {Interval, MetricSummary} from '../../stats/index.js'
import {type CompletedSweep, replicatesOf} from './schema.js'

/**
 * Fewest draws whose range says what a median could as well have been: ranges of n draws each of one law are apart in two of
 * (2n choose n) cases, in 10 % for three draws and in 0.8 % for five.
 */
export const LEAST_FOR_RANGE = 5

/** How the spread of a median is shown: too few replicates have a range, but no interval. */
export function spreadOf({low, high, min, max}: MetricSummary): 'interval' | 'range' | 'none' {
  if (low !== null && high !== null) return low === high ? 'none' : 'interval'
  // one end alone: broken replicates have taken the other
  if (low !== null || high !== null || min === null || max === null) return 'none'
  return min === max ? 'none' : 'range'
}

/**
 * What the median of a metric could as well have been: its interval, or the range where there is none, or anything after too
 * few draws; the value itself where nothing is drawn. `undefined` where broken replicates leave neither.
 */
export function boundsOf(row: CompletedSweep, summary: MetricSummary): Interval | undefined {
  const {median, low, high, min, max} = summary
  const drawn = row.cell.projection !== null || (min !== null && max !== null && min < max)
  if (drawn && replicatesOf(row) < LEAST_FOR_RANGE) {
    return {low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY}
  }
  switch (spreadOf(summary)) {
    case 'interval':
      return {low: low!, high: high!}
    case 'range':
      return {low: min!, high: max!}
    case 'none':
      return median !== null && min === max ? {low: median, high: median} : undefined
  }
}

/** Whether two spreads have a point in common. */
export function overlap(a: Interval, b: Interval): boolean {
  return a.low <= b.high && b.low <= a.high
}

/** Whether draws tell no difference between the median relative errors of two rows. */
export function untold(a: CompletedSweep, b: CompletedSweep): boolean {
  const [own, other] = [a, b].map(row => boundsOf(row, row.result.rel_l2))
  return own !== undefined && other !== undefined && overlap(own, other)
}
