/** For times, ratios and slopes: whether they are known at all, and well enough to be printed. */
import {type Estimate, factorOf} from '../stats/index.js'

/**
 * A ratio is printed where its 95 % interval lies within this factor of it, to either side. The ratios of two
 * benchmarks then differ, in all but one case in twenty, by less than 1.25^sqrt(2) = 1.37.
 */
export const SETTLED_FACTOR = 1.25
/** A slope is printed where its 95 % interval ends within this distance: 1 and 2, linear and quadratic, stay apart. */
export const SETTLED_SLOPE = 0.25

/** Whether anything is known of a ratio, or of a slope: on a busy machine its interval may have no end. */
export function isTold({high}: Estimate): boolean {
  return high !== Number.POSITIVE_INFINITY
}

/** Whether a ratio, or a time, is known well enough to be printed as a number. */
export function isSettled(estimate: Estimate): boolean {
  return factorOf(estimate) <= SETTLED_FACTOR
}

/** The same of a slope. */
export function isSettledSlope({value, low, high}: Estimate): boolean {
  return Math.max(high - value, value - low) <= SETTLED_SLOPE
}
