/** Random Maclaurin features: the law of degrees, and closed forms of what they estimate. */
import {dot} from './kernels.js'
import type {Moments} from './moments.js'

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
 * One random product, `prod_{j <= N} (w_j.x) (w_j.y) / (N! p_N)`: its k-th moment is
 * `sum_n p_n (t_k^n / (n! p_n)^k)`, t_k = E[(w.x)^k (w.y)^k] for a vector w of signs.
 *
 * Source: derived here; features: Kar & Karnick 2012, arXiv:1201.6530.
 */
export function maclaurinRow(x: Float64Array, y: Float64Array, maxDegree: number): Moments {
  const {probability, weight} = truncatedGeometric(maxDegree)
  const factors = signMoments(x, y)
  const moment = (k: number) =>
    sumOver(maxDegree, n => probability(n) * (weight(n) ** k * factors[k]! ** n))
  const mean = truncatedExponential(x, y, maxDegree)
  const [second, third, fourth] = [moment(2), moment(3), moment(4)]
  const variance = second - mean ** 2
  const central = fourth - 4 * mean * third + 6 * mean ** 2 * second - 3 * mean ** 4
  return {mean, variance, kurtosis: central / variance ** 2 - 3}
}

/** Cumulants of a random sign of order 2, 4, 6, 8; odd ones are 0. */
const SIGN_CUMULANTS = [1, -2, 16, -272]

/**
 * E[(w.x)^k (w.y)^k], k = 0..4, w of independent signs. Cumulants of u = w.x, v = w.y add up over dimensions,
 * `c_{ij} = c_{i+j} sum_l x_l^i y_l^j`, and moments follow from them by
 * `m_{i+1,j} = sum C(i,a) C(j,b) c_{a+1,b} m_{i-a,j-b}`.
 */
export function signMoments(x: Float64Array, y: Float64Array): number[] {
  const cumulant = (i: number, j: number): number => {
    if ((i + j) % 2 === 1) return 0
    const shared = x.reduce((sum, value, l) => sum + value ** i * y[l]! ** j, 0)
    return SIGN_CUMULANTS[(i + j) / 2 - 1]! * shared
  }
  const known = new Map<string, number>()
  const moment = (i: number, j: number): number => {
    if (i === 0 && j === 0) return 1
    const key = `${i} ${j}`
    const before = known.get(key)
    if (before !== undefined) return before
    const value = i > 0 ? first(i - 1, j) : second(j - 1)
    known.set(key, value)
    return value
  }
  const first = (i: number, j: number) =>
    sumOver(i, a =>
      sumOver(j, b => choose(i, a) * choose(j, b) * cumulant(a + 1, b) * moment(i - a, j - b)),
    )
  const second = (j: number) =>
    sumOver(j, b => choose(j, b) * cumulant(0, b + 1) * moment(0, j - b))
  return [0, 1, 2, 3, 4].map(k => moment(k, k))
}

function choose(n: number, k: number): number {
  return factorial(n) / (factorial(k) * factorial(n - k))
}

function sumOver(maxDegree: number, term: (degree: number) => number): number {
  let sum = 0
  for (let n = 0; n <= maxDegree; n++) sum += term(n)
  return sum
}
