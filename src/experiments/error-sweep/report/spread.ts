/** What medians over replicates could as well have been. */
import type {Interval, MetricSummary} from '../../../stats/index.js'

/** How the spread of a median is shown: too few replicates have a range, but no interval. */
export function spreadOf({low, high, min, max}: MetricSummary): 'interval' | 'range' | 'none' {
  if (low !== null && high !== null) return low === high ? 'none' : 'interval'
  // one end alone: broken replicates have taken the other
  if (low !== null || high !== null || min === null || max === null) return 'none'
  return min === max ? 'none' : 'range'
}

/**
 * What the median of a metric could as well have been: its interval, or the range of replicates too few for one. `undefined`
 * where broken replicates leave neither.
 */
export function boundsOf(summary: MetricSummary): Interval | undefined {
  const {median, low, high, min, max} = summary
  switch (spreadOf(summary)) {
    case 'interval':
      return {low: low!, high: high!}
    case 'range':
      return {low: min!, high: max!}
    case 'none':
      return median !== null && min === max ? {low: median, high: median} : undefined
  }
}
