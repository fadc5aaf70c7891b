/** What theorems say of the mean squared error of positive features with orthogonal rows. */
import {type BlockShape, sharedPairs} from './dependent-rows.js'
import {positiveVariance, squaredNorms} from './kernels.js'

/**
 * Upper bound on the mean squared error of positive features with M <= D orthogonal rows:
 * `MSE_iid - 2 (M - 1) / (M (D + 2)) (SM - e^{-(|x|^2 + |y|^2)/2})^2`. It holds, and is tight for small |x + y|: the exact gap is
 * `SM^2 s^2 / (2 (D + 2))` times `(M - 1) / M` in the limit there, s = |x + y|^2.
 *
 * The gap of one pair of rows in a block; with more blocks it counts `sharedPairs` / M^2 times.
 *
 * Source: Choromanski et al. 2021, arXiv:2009.14794v3 and later, Theorem 2.
 *
 * @param pairs - ordered pairs of rows that share a block; default `M (M - 1)`
 */
export function orthogonalBound(
  x: Float64Array,
  y: Float64Array,
  numFeatures: number,
  pairs = numFeatures * (numFeatures - 1),
): number {
  const {sum} = squaredNorms(x, y)
  const size = {headDim: x.length, numFeatures}
  const ratio = sum > 0 ? orthogonalBoundRatio(sum, size, pairs) : 1
  return positiveVariance(x, y, numFeatures) * ratio
}

/**
 * {@link orthogonalBound} over the error with i.i.d. rows,
 * `1 - (pairs / M) 2 / (D + 2) (1 - e^{-s/2})^2 / (e^s - 1)`, s = |x + y|^2: a constant factor of estimates cancels.
 *
 * @param squaredNorm - s, above 0
 */
export function orthogonalBoundRatio(
  squaredNorm: number,
  {headDim, numFeatures}: BlockShape,
  pairs = sharedPairs('orth', {headDim, numFeatures}),
): number {
  const apart = Math.expm1(-squaredNorm / 2) ** 2 / Math.expm1(squaredNorm)
  return 1 - ((pairs / numFeatures) * 2 * apart) / (headDim + 2)
}
