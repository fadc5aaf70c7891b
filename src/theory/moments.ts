/** Mean, variance and kurtosis: what a sample of kernel estimates is judged by. */

/** Moments of a random number: of one row's product, or of an estimate. */
export interface Moments {
  mean: number
  variance: number
  /** Fourth central moment over the squared variance, less 3; `Infinity` where there is none, 0 where nothing varies. */
  kurtosis: number
}

/** Of `factor` times the average of independent copies: cumulants of order n fall like `count^(1-n)`. */
export function averaged(row: Moments, count: number, factor = 1): Moments {
  return {
    mean: factor * row.mean,
    variance: (factor ** 2 * row.variance) / count,
    kurtosis: row.kurtosis / count,
  }
}

/** Beyond it exp leaves the range of doubles. */
const LARGEST_LOG = 700
/** Relative variances below it leave too few digits in a fourth moment about the mean. */
const LEAST_RELATIVE_VARIANCE = 1e-6

/**
 * Excess kurtosis of a positive number from `ln(E g^k / (E g)^k)`, k = 2, 3, 4:
 * `(m4 - 4 m3 + 6 m2 - 3) / (m2 - 1)^2 - 3`.
 *
 * Differences of order (m2 - 1)^2 are what is left of logarithms with an absolute rounding error, which makes an
 * error of about `2^-50 L / (m2 - 1)^2`, L the size of what the logarithms are sums of, at least 1: 1e-3 at the
 * limit. For m2 - 1 below 1e-6 all that is known is that g is nearly linear in its random numbers: the excess of
 * normal ones is 0, and on the sphere, where it is -6/(D + 2), 0 is an upper bound.
 */
export function relativeKurtosis(log2: number, log3: number, log4: number): number {
  if (Number.isNaN(log4) || log4 === Number.POSITIVE_INFINITY) return Number.POSITIVE_INFINITY
  if (log4 > LARGEST_LOG) return Math.exp(log4 - 2 * log2)
  const variance = Math.expm1(log2)
  if (variance < LEAST_RELATIVE_VARIANCE) return 0
  const fourth = Math.expm1(log4) - 4 * Math.expm1(log3) + 6 * variance
  return fourth / variance ** 2 - 3
}

/**
 * Relative standard error of the sample variance of `replicates` draws, `sqrt((kurtosis + 2) / R)`: exact but
 * for a factor `1 + O(1/R)` in the 2.
 */
export function varianceStandardError(kurtosis: number, replicates: number): number {
  return Math.sqrt((kurtosis + 2) / replicates)
}
