/** Random Maclaurin features: the law of degrees, and closed forms of what they estimate. */
import {dot, squaredNorms} from './kernels.js'

/** Degrees N with `p_n = 2^-(n+1) / (1 - 2^-(K+1))`, n = 0..K. */
export interface DegreeLaw {
  /** p_n */
  probability(degree: number): number
  /** `1 / (n! p_n)`: what a product of degree n counts in an estimate of exp. */
  weight(degree: number): number
  /** The degree that a uniform number in [0, 1] decides. */
  quantile(uniform: number): number
}

/** The geometric law up to K, `maxDegree`. */
export function truncatedGeometric(maxDegree: number): DegreeLaw {
  const mass = 1 - 2 ** -(maxDegree + 1)
  const probability = (degree: number) => 2 ** -(degree + 1) / mass
  return {
    probability,
    weight: degree => 1 / (factorial(degree) * probability(degree)),
    quantile: uniform => Math.min(maxDegree, Math.floor(Math.log2(1 / (1 - uniform * mass)))),
  }
}

function factorial(n: number): number {
  return n < 2 ? 1 : n * factorial(n - 1)
}

/** What the features estimate without bias: exp(x.y) up to degree K, `sum_{n <= K} (x.y)^n / n!`. */
export function truncatedExponential(x: Float64Array, y: Float64Array, maxDegree: number): number {
  const s = dot(x, y)
  return sumOver(maxDegree, n => s ** n / factorial(n))
}

/**
 * Variance of the estimate from M independent products: `(sum_n p_n (t^n / (n! p_n)^2) - E^2) / M`, where
 * `t = E[(w.x)^2 (w.y)^2] = |x|^2 |y|^2 + 2 (x.y)^2 - 2 sum_l x_l^2 y_l^2` for a vector w of signs.
 *
 * Source: derived here; features: Kar & Karnick 2012, arXiv:1201.6530.
 */
export function maclaurinVariance(
  x: Float64Array,
  y: Float64Array,
  numFeatures: number,
  maxDegree: number,
): number {
  const {weight} = truncatedGeometric(maxDegree)
  const norms = squaredNorms(x, y)
  const shared = x.reduce((sum, value, l) => sum + (value * y[l]!) ** 2, 0)
  const t = norms.x * norms.y + 2 * dot(x, y) ** 2 - 2 * shared
  const secondMoment = sumOver(maxDegree, n => (weight(n) * t ** n) / factorial(n))
  return (secondMoment - truncatedExponential(x, y, maxDegree) ** 2) / numFeatures
}

function sumOver(maxDegree: number, term: (degree: number) => number): number {
  let sum = 0
  for (let n = 0; n <= maxDegree; n++) sum += term(n)
  return sum
}
