/** The laws of one row that make the moments of its product: `r_k = r g^k / E g^k`, r its own law, g the product. */
import {logSecondMoment} from './exponential.js'
import {logSphereMean} from './sphere.js'

/** What one row adds to an estimate, but for a constant: `exp(2 a |w|^2 + (1 - 4a)^(1/2) w.z)`. */
export interface RowTilt {
  /** |z|^2 */
  squaredNorm: number
  /** a, below 1/8: else the product has no second moment. Default 0. */
  exponent?: number
  /** It is the sum of this and the same with -z. */
  even?: boolean
  /** Rows, or what is taken of them, are of length sqrt(D); for a = 0 alone. */
  sphere?: boolean
}

/** Beyond it squares of densities leave the range of doubles. */
const LARGEST_LOG = 300

/** Whether both laws are there, and their densities within doubles. */
export function isTiltable(tilt: RowTilt, headDim: number): boolean {
  const log = logProductMoments(tilt, headDim).second
  return log <= LARGEST_LOG && tilt.squaredNorm <= LARGEST_LOG
}

/** `ln E g` and `ln (E g^2 / (E g)^2)` of one row. */
export function logProductMoments(
  {squaredNorm: s, exponent: a = 0, sphere}: RowTilt,
  headDim: number,
): {mean: number; second: number} {
  if (sphere) {
    const mean = logSphereMean(headDim, s)
    return {mean, second: logSphereMean(headDim, 4 * s) - 2 * mean}
  }
  if (a >= 1 / 8) return {mean: Number.NaN, second: Number.POSITIVE_INFINITY}
  return {mean: (s - headDim * Math.log1p(-4 * a)) / 2, second: logSecondMoment(a, headDim, s)}
}

/**
 * Mean and variance, along z and across, of the normal law of a row that makes moment k: density `N(0, I) g^k` but for a
 * constant. @returns `shift` times z is the mean, `spread` the standard deviation
 */
export function normalTilt(k: number, a: number): {shift: number; spread: number} {
  const variance = 1 / (1 - 4 * k * a)
  return {shift: k * Math.sqrt(1 - 4 * a) * variance, spread: Math.sqrt(variance)}
}

/**
 * Adds `r_1 / r` and `r_2 / r` at the rows of a matrix: each is a power of the product over its mean.
 *
 * @returns how to add the row with this product with z and this squared length, and the weight of a matrix: 3 over the
 * density of the mixture of the plain law and of those with one row tilted, over the plain law
 */
export function mixtureWeight(tilt: RowTilt, headDim: number) {
  const {exponent: a = 0, even, sphere} = tilt
  const {mean, second} = logProductMoments(tilt, headDim)
  const slope = Math.sqrt(1 - 4 * a)
  const shrink = Math.exp(-second)
  let [first, squares, rows] = [0, 0, 0]
  const add = (log: number, share: number) => {
    const density = Math.exp(log)
    first += share * density
    squares += share * density * density * shrink
  }
  return {
    add(product: number, squaredLength: number): void {
      const log = sphere ? product * Math.sqrt(headDim / squaredLength) : slope * product
      const rest = 2 * a * squaredLength - mean
      add(rest + log, even ? 0.5 : 1)
      if (even) add(rest - log, 0.5)
      rows++
    },
    /** Of the rows added since the last one. */
    take(): number {
      const weight = 3 / (1 + (first + squares) / rows)
      ;[first, squares, rows] = [0, 0, 0]
      return weight
    },
  }
}
