/** From records of an error sweep to errors with intervals, over all heads and of each. */

import type {CompletedSweep} from '../experiments/error-sweep/schema.js'
import {variantLabel} from '../experiments/labels.js'
import {type Estimate, medianInterval} from '../stats/index.js'

/** Metrics that records have of heads, too. */
export const ADVICE_METRICS = ['rel_l2', 'mse'] as const
export type AdviceMetric = (typeof ADVICE_METRICS)[number]

/** What attention could be replaced by, with the errors that were measured at one scale of queries and keys. */
export interface Candidate {
  /** As tables call it. */
  label: string
  cell: CompletedSweep['cell']
  /** F */
  featureDim: number
  /** Median over replicates, with 95 %; ends are `NaN` below six of them. */
  error: Estimate
  /** The same of each head. */
  heads: Estimate[]
  /** Why one call of it cannot be relied on, whatever its median. */
  unfit: 'not_finite' | 'sign_changes' | null
  /** M that rel_l2 of 0.05 takes, over all heads, as theory carries on what was measured; `null`: not known. */
  featuresForFivePercent: number | null
}

/** The candidate that a record is of. */
export function candidateOf(record: CompletedSweep, metric: AdviceMetric): Candidate {
  const {cell, result} = record
  const {means_unknown: unknown} = result
  return {
    label: variantLabel(cell),
    cell,
    featureDim: result.feature_dim,
    error: overAll(record, metric),
    heads: result.per_head.map((_, head) => ofHead(record, head, metric)),
    unfit: unknown === 'not_finite' || unknown === 'sign_changes' ? unknown : null,
    featuresForFivePercent: result.num_features_for_5_percent,
  }
}

/** What has no draws is known exactly; it makes one replicate, whatever was asked for. */
function isExact({cell}: CompletedSweep): boolean {
  return cell.replicates === 1 && cell.num_features === null
}

function overAll(record: CompletedSweep, metric: AdviceMetric): Estimate {
  const {median, low, high} = record.result[metric]
  const value = median ?? Number.NaN
  if (isExact(record)) return {value, low: value, high: value}
  return {value, low: low ?? Number.NaN, high: high ?? Number.NaN}
}

/**
 * The median of one head and its interval, by the squared errors of the replicates, whose root is proportional to rel_l2.
 * With several sequences that holds as far as they have errors alike.
 */
function ofHead(record: CompletedSweep, head: number, metric: AdviceMetric): Estimate {
  const value = record.result.per_head[head]![metric] ?? Number.NaN
  if (isExact(record)) return {value, low: value, high: value}
  const squares = (record.result.replicate_metrics?.head_mse?.[head] ?? []).map(
    error => error ?? Number.POSITIVE_INFINITY,
  )
  const {mse} = record.result.per_head[head]!
  const {low, high} = medianInterval(squares)
  const relative = (end: number) => (mse === 0 ? 1 : end / (mse ?? Number.NaN))
  const power = metric === 'mse' ? 1 : 0.5
  return {value, low: value * relative(low) ** power, high: value * relative(high) ** power}
}
