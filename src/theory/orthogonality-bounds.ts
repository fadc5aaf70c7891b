/** What theorems say of the mean squared error of positive features with orthogonal rows. */
import {type BlockShape, sharedPairs} from './dependent-rows.js'

/**
 * Upper bound on the mean squared error of positive features with orthogonal rows over that of i.i.d. ones. For M <= D it is
 * `MSE_iid - 2 (M - 1) / (M (D + 2)) (SM - e^{-(|x|^2 + |y|^2)/2})^2`; the gap of one pair of rows in a block counts `pairs / M^2`
 * times with more blocks. Over the error with i.i.d. rows, s = |x + y|^2:
 *
 * `1 - (pairs / M) 2 / (D + 2) (1 - e^{-s/2})^2 / (e^s - 1)`.
 *
 * It holds, and is tight for small s: the exact gap is `SM^2 s^2 / (2 (D + 2))` times `(M - 1) / M` in the limit there. A constant
 * factor of estimates cancels.
 *
 * Source: Choromanski et al. 2021, arXiv:2009.14794v3 and later, Theorem 2.
 *
 * @param squaredNorm - s, above 0
 */
export function orthogonalBoundRatio(
  squaredNorm: number,
  {headDim, numFeatures}: BlockShape,
): number {
  const pairs = sharedPairs('orth', {headDim, numFeatures})
  const apart = Math.expm1(-squaredNorm / 2) ** 2 / Math.expm1(squaredNorm)
  return 1 - ((pairs / numFeatures) * 2 * apart) / (headDim + 2)
}
