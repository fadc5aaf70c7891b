/** How many replicates there are to be, where that depends on what they gave. */
import {summarise} from '../../../stats/index.js'
import type {ErrorSweepCell, ErrorSweepResult} from '../schema.js'
import type {ErrorMetrics} from './metrics.js'

/** Each look at the interval is after so many times as many replicates as the one before. */
const GROWTH = 1.5

type Metrics = readonly {all: ErrorMetrics}[]

/**
 * Whether the median of a metric is known well enough: half the width of its interval is at most so much of it. A median of
 * zero is known; one without interval, because replicates are few or broken, is not.
 */
function isKnown(
  {metric, relative_half_width: wanted}: NonNullable<ErrorSweepCell['until_ci']>,
  replicates: Metrics,
): boolean {
  const {median, low, high} = summarise(replicates.map(({all}) => all[metric]))
  if (median === null || low === null || high === null) return false
  return (high - low) / 2 <= wanted * median
}

/**
 * How many replicates there are to be next, all before them counted: the cell's own number first, then half as many
 * again each time. It depends on the cell and on its replicates alone, so that any process comes to the same.
 *
 * @param replicates - those so far
 * @returns `undefined` where there are enough
 */
export function nextCount(
  {replicates: least, until_ci: until}: Pick<ErrorSweepCell, 'replicates' | 'until_ci'>,
  replicates: Metrics,
): number | undefined {
  const {length} = replicates
  if (length === 0) return until ? Math.min(least, until.max_replicates) : least
  if (!until || length >= until.max_replicates || isKnown(until, replicates)) return undefined
  return Math.min(Math.ceil(length * GROWTH), until.max_replicates)
}

/** Replicates that there are at most. */
export function mostReplicates({
  replicates,
  until_ci: until,
}: Pick<ErrorSweepCell, 'replicates' | 'until_ci'>): number {
  return until?.max_replicates ?? replicates
}

/** What a record says of it. */
export function endOf(
  {until_ci: until}: Pick<ErrorSweepCell, 'until_ci'>,
  replicates: Metrics,
): Pick<ErrorSweepResult, 'replicates_run' | 'stopped_by'> {
  if (!until) return {replicates_run: null, stopped_by: null}
  return {
    replicates_run: replicates.length,
    stopped_by: isKnown(until, replicates) ? 'precision' : 'max_replicates',
  }
}
