/** Bias of whole outputs, from the split of the mean squared error that records have. */
import type {CompletedSweep} from '../../experiments/error-sweep/schema.js'
import {replicatesOf} from '../../experiments/error-sweep/schema.js'
import {studentNoncentrality, studentQuantile, studentTail} from '../../stats/index.js'
import {Unmeasured} from '../runs.js'
import {PLANNED_ALPHA} from './tests.js'

/** Groups of replicates that the standard error of a squared bias comes from, less one. */
const DEGREES = 9

/** A squared bias: unbiased, and negative at times where there is none. */
export interface Bias {
  value: number
  low: number
  high: number
  error: number
  /** Against "there is none", by Student's t on the degrees of freedom that groups leave. */
  p: number
  replicates: number
}

/** @throws {Unmeasured} where the record has no standard error, with the reason */
export function biasOf(record: CompletedSweep): Bias {
  const {cell, result} = record
  const {bias_squared: value, bias_squared_standard_error: error, means_unknown: why} = result
  if (value === null || error === null || !(error > 0)) {
    throw new Unmeasured(`${cell.method}: no standard error of bias^2 (${why ?? 'nothing drawn'})`)
  }
  const reach = -studentQuantile(0.025, DEGREES) * error
  return {
    ...{value, low: value - reach, high: value + reach, error},
    p: studentTail(value / error, DEGREES),
    replicates: replicatesOf(record),
  }
}

/**
 * Replicates with which a bias of a given size would have been seen with 90 %: those there were, where they are enough.
 * Errors of the squared bias fall like one over their number.
 */
export function replicatesToSee(size: number, {error, replicates}: Bias): number {
  const wanted = studentNoncentrality({degrees: DEGREES, alpha: PLANNED_ALPHA})
  return Math.ceil(replicates * Math.max(1, (wanted * error) / size))
}
