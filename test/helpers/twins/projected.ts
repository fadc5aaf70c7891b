/** W x and |x|^2/2 in double precision, with bounds on their float32 evaluation. */
import {U} from '../rounding.js'
import type {Head} from './types.js'

export interface Projected {
  /** w_s.x_i, `[L, M]`. */
  product: Float64Array
  /** Bound on its float32 error: (D + extra) u sum_d |w_d x_d|. */
  error: Float64Array
  /** |x_i|^2/2, `[L]`. */
  halfNorm: Float64Array
  /** Bound on its float32 error: (D + 2 extra + 2) u |x|^2/2. */
  halfNormError: Float64Array
  length: number
  numFeatures: number
}

/**
 * Projects the rows of `x`.
 *
 * @param extra - roundings that each component of x went through before, one u each
 */
export function project(
  x: Float64Array,
  {projection, numFeatures, headDim}: Pick<Head, 'projection' | 'numFeatures' | 'headDim'>,
  extra: number,
): Projected {
  const length = x.length / headDim
  const product = new Float64Array(length * numFeatures)
  const error = new Float64Array(length * numFeatures)
  const halfNorm = new Float64Array(length)
  for (let i = 0; i < length; i++) {
    for (let d = 0; d < headDim; d++) halfNorm[i]! += x[i * headDim + d]! ** 2 / 2
    for (let s = 0; s < numFeatures; s++) {
      let sum = 0
      let magnitude = 0
      for (let d = 0; d < headDim; d++) {
        const term = projection[s * headDim + d]! * x[i * headDim + d]!
        sum += term
        magnitude += Math.abs(term)
      }
      product[i * numFeatures + s] = sum
      error[i * numFeatures + s] = (headDim + extra) * U * magnitude
    }
  }
  const halfNormError = halfNorm.map(h => (headDim + 2 * extra + 2) * U * h)
  return {product, error, halfNorm, halfNormError, length, numFeatures}
}

/** sqrt(beta) x: canonical vectors. Three roundings: of sqrt(beta), of the product, one to spare. */
export function canonical(x: Float64Array, logitScale: number): Float64Array {
  const factor = Math.sqrt(logitScale)
  return x.map(value => value * factor)
}

export const CANONICAL_ROUNDINGS = 3

/**
 * x / (tau (|x| + epsilon)); a zero vector stays zero. Roundings of a component: the norm has
 * D/2 + 2 (its square has D + 1, the root halves them), then sum, product and quotient.
 */
export function unitVectors(
  x: Float64Array,
  headDim: number,
  tau: number,
  epsilon: number,
): Float64Array {
  return x.map((value, at) => {
    const row = x.subarray(at - (at % headDim), at - (at % headDim) + headDim)
    const length = Math.hypot(...row) + epsilon
    return length === 0 ? 0 : value / (length * tau)
  })
}

export function unitRoundings(headDim: number): number {
  return headDim / 2 + 6
}
