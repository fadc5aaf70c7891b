/** From records of an error sweep to errors with intervals, over all heads and of each. */

import {around, byInterval} from '../answers/index.js'
import {YARDSTICK} from '../experiments/averaging.js'
import {headsOf, replicateMetricsOf} from '../experiments/error-sweep/heavy-lists.js'
import {EQUAL} from '../experiments/error-sweep/report/errors/comparison.js'
import type {CompletedSweep, ErrorSweepResult} from '../experiments/error-sweep/schema.js'
import {variantLabel} from '../experiments/labels.js'
import {type Estimate, mapped, medianInterval, pairedRatio} from '../stats/index.js'

/** Metrics that records have of heads, too. */
export const ADVICE_METRICS = ['rel_l2', 'mse'] as const
export type AdviceMetric = (typeof ADVICE_METRICS)[number]

/**
 * Why a candidate is never taken:
 * - `not_finite`: an estimate broke
 * - `sign_changes`: denominators came out on both sides of zero
 * - `other_length`: windows or landmarks were measured at another length than that advised for
 */
export const UNFIT = ['not_finite', 'sign_changes', 'other_length'] as const
type Unfit = (typeof UNFIT)[number]

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
  /** rel_l2 over that of averaging V on the same replicates, over all heads: centre of the ratios, with 95 %. */
  overMean: Estimate
  /** The same of each head. */
  headsOverMean: Estimate[]
  /** Why its error says nothing of a call, whatever its median. */
  unfit: Unfit | null
  /** It has no features of tokens, but windows or landmarks of the sequence: its error depends on the length. */
  ofSequence: boolean
  /** M that rel_l2 of 0.05 takes, over all heads, as theory carries on what was measured; `null`: not known. */
  featuresForFivePercent: number | null
  /** Whether theory predicts its error: without {@link featuresForFivePercent} no M up to 2^24 reaches 5 %, unless {@link predictionUnknown} says why. */
  predicted: boolean
  /** Why its error, or the M for 5 %, is not known, where theory has it. */
  predictionUnknown: CompletedSweep['result']['prediction_unknown']
}

/** Whether it has a lower error than averaging V for certain, by more than {@link EQUAL}; averaging V itself counts. */
export function beatsMean({cell}: Pick<Candidate, 'cell'>, overMean: Estimate): boolean {
  return cell.method === YARDSTICK || byInterval(overMean, around(EQUAL)) === 'less'
}

/** The candidate that a record is of. @param length - L advised for; default: that of the record */
export function candidateOf(
  record: CompletedSweep,
  metric: AdviceMetric,
  length = record.result.query_len,
): Candidate {
  const {cell, result} = record
  const heads = headsOf(record)
  const ofSequence = result.feature_dim === 0
  return {
    label: variantLabel(cell),
    cell,
    featureDim: result.feature_dim,
    error: overAll(record, metric),
    heads: heads.map((_, head) => ofHead(record, head, metric)),
    overMean: ratioToMean(squaresOf(record), meanMseOf({...result, mse: result.mse.median})),
    headsOverMean: heads.map((own, head) => ratioToMean(squaresOf(record, head), meanMseOf(own))),
    unfit: unfitOf(result, ofSequence && length !== result.query_len),
    ofSequence,
    featuresForFivePercent: result.num_features_for_5_percent,
    predicted: result.predicted_rel_l2 !== null,
    predictionUnknown: result.prediction_unknown,
  }
}

function unfitOf({means_unknown: unknown}: CompletedSweep['result'], moved: boolean): Unfit | null {
  if (unknown === 'not_finite' || unknown === 'sign_changes') return unknown
  return moved ? 'other_length' : null
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
 * The median of one head and its interval, by the squared errors of the replicates: their root is proportional to rel_l2.
 * With several sequences that holds as far as they have errors alike.
 */
function ofHead(record: CompletedSweep, head: number, metric: AdviceMetric): Estimate {
  const own = headsOf(record)[head]!
  const value = own[metric] ?? Number.NaN
  if (isExact(record)) return {value, low: value, high: value}
  const {mse} = own
  const {low, high} = medianInterval(squaresOf(record, head))
  const relative = (end: number) => (mse === 0 ? 1 : end / (mse ?? Number.NaN))
  const power = metric === 'mse' ? 1 : 0.5
  return {value, low: value * relative(low) ** power, high: value * relative(high) ** power}
}

/** Mean squared errors of the replicates, of one head or of all, if the version of the record kept any. */
function squaresOf(record: CompletedSweep, head?: number): number[] {
  const {result} = record
  const kept = replicateMetricsOf(record)
  const squares = head === undefined ? kept?.mse : kept?.head_mse?.[head]
  const one = head === undefined ? result.mse.median : headsOf(record)[head]!.mse
  const known = squares ?? (result.mse_standard_error === 0 ? [one] : [])
  return known.map(error => error ?? Number.POSITIVE_INFINITY)
}

/** Mean squared error of averaging V, by that of an estimate and their ratio; 0 where it is exact but for rounding. */
function meanMseOf({
  mse,
  mse_over_mean_value: share,
}: Pick<ErrorSweepResult['per_head'][number], 'mse' | 'mse_over_mean_value'>): number {
  if (mse === null || share === null) return 0
  return share === 0 ? Number.POSITIVE_INFINITY : mse / share
}

/**
 * rel_l2 of each replicate over that of averaging V, which draws nothing: the root of the ratio of squared errors.
 *
 * @param squares - one value is known exactly
 */
function ratioToMean(squares: readonly number[], mean: number): Estimate {
  if (squares.length === 0) return {value: Number.NaN, low: Number.NaN, high: Number.NaN}
  if (mean === 0) return exactly(Number.POSITIVE_INFINITY)
  if (squares.length === 1) return exactly(Math.sqrt(squares[0]! / mean))
  const above = squares.map(square => Math.max(square, Number.MIN_VALUE))
  const means = above.map(() => mean)
  return mapped(pairedRatio(above, means), Math.sqrt)
}

function exactly(value: number): Estimate {
  return {value, low: value, high: value}
}
