/** One head in coordinates in which its generalised exponential features are products over axes. */
import type {PositiveHead} from '../../../theory/ratio-error/types.js'
import type {HeadMoments} from './moments.js'
import {type HeadParameters, mapped} from './parameters.js'
import type {Eigen} from './symmetric.js'

/**
 * Queries `P x` and keys `P^-1 y` along the eigenvectors of A, with its eigenvalues.
 *
 * @param moments - of the tokens that set the features
 * @param rule - parameters from moments
 */
export function positiveHead(
  head: PositiveHead,
  moments: HeadMoments,
  rule: (moments: HeadMoments) => HeadParameters,
): PositiveHead {
  const {headDim} = head
  const {exponent, maps} = rule(moments)
  const side = (vectors: Float64Array, map: Float64Array | undefined) =>
    eachVector(vectors, headDim, x => alongAxes(mapped(x, map), exponent))
  return {
    ...head,
    query: side(head.query, maps?.query),
    key: side(head.key, maps?.key),
    exponents:
      typeof exponent === 'number' ? new Float64Array(headDim).fill(exponent) : exponent.values,
  }
}

function eachVector(
  vectors: Float64Array,
  dim: number,
  change: (x: Float64Array) => Float64Array,
): Float64Array {
  const out = new Float64Array(vectors.length)
  for (let at = 0; at < vectors.length; at += dim)
    out.set(change(vectors.subarray(at, at + dim)), at)
  return out
}

function alongAxes(x: Float64Array, exponent: number | Eigen): Float64Array {
  if (typeof exponent === 'number') return x
  const {vectors} = exponent
  const n = x.length
  const out = new Float64Array(n)
  for (let d = 0; d < n; d++) {
    for (let l = 0; l < n; l++) out[l]! += vectors[d * n + l]! * x[d]!
  }
  return out
}
