/** Variances of samples too small to know their own: each leans on what the others say, as far as they agree. */
import {cephes} from './cephes.js'
import {mean} from './descriptive.js'

/** What small samples say together of the variance of each. */
export interface SharedVariance {
  value: number
  /**
   * Degrees of freedom that it adds to those of a sample: many where samples agree, 0 where they say nothing of each
   * other.
   */
  degrees: number
}

/** Samples below this many say nothing together: how far they agree is not known. */
const LEAST_SAMPLES = 6

/**
 * Scaled inverse chi-square that variances of samples are taken to be drawn from, by the moments of their logarithms.
 *
 * Source: Smyth 2004, "Linear models and empirical Bayes methods for assessing differential expression in microarray
 * experiments", Statistical Applications in Genetics and Molecular Biology 3(1), article 3, section 6.2.
 *
 * @param variances - of independent samples; those that are 0 say nothing
 * @param degrees - of freedom of each
 */
export function sharedVariance(variances: readonly number[], degrees: number): SharedVariance {
  const known = variances.filter(value => value > 0)
  const count = known.length
  if (count < LEAST_SAMPLES) return {value: 0, degrees: 0}
  const bias = cephes('psi', degrees / 2) - Math.log(degrees / 2)
  const logs = known.map(value => Math.log(value) - bias)
  const center = mean(logs)
  const spread = logs.reduce((sum, log) => sum + (log - center) ** 2, 0) / (count - 1)
  const own = spread - cephes('zeta', 2, degrees / 2) // zeta(2, x) is the trigamma function
  // all of them together have no more than this
  const most = count * degrees
  if (own <= 0) return {value: Math.exp(center), degrees: most}
  const half = inverseTrigamma(own)
  const value = Math.exp(center + cephes('psi', half) - Math.log(half))
  return {value, degrees: Math.min(2 * half, most)}
}

/** A sample's variance, shrunk towards the shared one. */
export function leaning(own: {value: number; degrees: number}, shared: SharedVariance) {
  const degrees = own.degrees + shared.degrees
  const value = (own.degrees * own.value + shared.degrees * shared.value) / degrees
  return {value, degrees}
}

/** Steps of Newton's method, from a start below the solution. */
const STEPS = 50

/** x with zeta(2, x) = y: Newton's method on its reciprocal, which is convex and nearly straight; Smyth 2004, appendix. */
function inverseTrigamma(y: number): number {
  let x = 0.5 + 1 / y
  for (let step = 0; step < STEPS; step++) {
    const value = cephes('zeta', 2, x)
    const slope = -2 * cephes('zeta', 3, x)
    const change = (value * (1 - value / y)) / slope
    x += change
    if (-change < 1e-10 * x) break
  }
  return x
}
