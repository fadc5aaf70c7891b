/** How many replicates there are to be, where that depends on what they gave. */
import {summarise} from '../../../stats/index.js'
import {isNarrow, nextReplicates} from '../../until-ci.js'
import type {ErrorSweepCell, ErrorSweepResult} from '../schema.js'
import type {ErrorMetrics} from './metrics.js'

/** A replicate takes long: half as many again are few enough to stop soon behind the mark. */
const GROWTH = 1.5

type Metrics = readonly {all: ErrorMetrics}[]

/**
 * Whether the median of a metric is known well enough. A median of zero is known; one without interval, because replicates are
 * few or broken, is not.
 */
function isKnown(until: NonNullable<ErrorSweepCell['until_ci']>, replicates: Metrics): boolean {
  const {median, low, high} = summarise(replicates.map(({all}) => all[until.metric]))
  if (median === null || low === null || high === null) return false
  return isNarrow(median, {low, high}, until)
}

/** How many replicates there are to be next: see {@link nextReplicates}. @param replicates - those so far */
export function nextCount(
  cell: Pick<ErrorSweepCell, 'replicates' | 'until_ci'>,
  replicates: Metrics,
): number | undefined {
  return nextReplicates(cell, replicates.length, {
    factor: GROWTH,
    isKnown: () => cell.until_ci !== undefined && isKnown(cell.until_ci, replicates),
  })
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
