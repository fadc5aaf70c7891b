/** Intervals of the statistical suites: every width comes from a closed form or from the spread of draws. */

import {SLOW} from './effort.js'

/**
 * Normal quantile for up to 1000 checks at a total false-alarm rate of 1e-4, two-sided (Bonferroni):
 * `Phi(5.33) = 1 - 1e-4 / (2 * 1000)`. Seeds are fixed, so a pass stays a pass.
 */
export const Z = 5.33

/** Slow runs repeat the suites with this many times the draws. */
export const EFFORT = SLOW ? 16 : 1

/** Moments of a sample. */
export interface Moments {
  mean: number
  /** Unbiased. */
  variance: number
  /** Standard error of the mean. */
  standardError: number
  /** Standard error of the variance, from the sample's own fourth moment: sqrt((m4 - s^4) / n). */
  varianceError: number
}

export function moments(sample: ArrayLike<number>): Moments {
  const n = sample.length
  const values = Float64Array.from(sample)
  const mean = values.reduce((sum, x) => sum + x, 0) / n
  const power = (p: number) => values.reduce((sum, x) => sum + (x - mean) ** p, 0) / n
  const second = power(2)
  const variance = (second * n) / (n - 1)
  return {
    mean,
    variance,
    standardError: Math.sqrt(variance / n),
    varianceError: Math.sqrt(Math.max(0, power(4) - second ** 2) / n),
  }
}

/**
 * Asserts that an observed number lies within `Z` standard errors of what it should be.
 *
 * @param slack - further allowance, e.g. for rounding; default none
 */
export function assertNear(
  label: string,
  observed: number,
  expected: number,
  standardError: number,
  slack = 0,
): void {
  const allowed = Z * standardError + slack
  if (Math.abs(observed - expected) <= allowed) return
  const distance = (observed - expected) / standardError
  throw new Error(
    `${label}: expected ${expected} within ${allowed}, observed ${observed} (${distance.toFixed(2)} standard errors)`,
  )
}
