/** The error that first screens, stars and comparisons of methods go by. */
import type {MetricSummary} from '../../../../stats/index.js'
import {replicateMetricsOf} from '../../heavy-lists.js'
import type {CompletedSweep} from '../../schema.js'

/** Its name in records, there and among the metrics of replicates: another one leads by its name here. */
const LEADING = 'rel_l2' satisfies keyof CompletedSweep['result']

/** Over replicates. */
export function leadingError({result}: Pick<CompletedSweep, 'result'>): MetricSummary {
  return result[LEADING]
}

/** Of every replicate; `undefined` where a version kept none. */
export function leadingErrors(row: CompletedSweep): readonly (number | null)[] | undefined {
  return replicateMetricsOf(row)?.[LEADING]
}
