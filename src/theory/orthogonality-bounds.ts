/** What theorems say of the mean squared error of positive features with orthogonal rows. */
import {type BlockShape, sharedPairs} from './dependent-rows.js'

/**
 * Upper bound on the mean squared error of positive features with orthogonal rows, over that with i.i.d. rows:
 *
 * `1 - (pairs / M) 2 / (D + 2) (1 - e^{-s/2})^2 / (e^s - 1)`, s = |x + y|^2,
 *
 * with the ordered pairs of rows that share a block. For M <= D, pairs = M (M - 1), this is the theorem's gap
 * `2 (M - 1) / (M (D + 2)) (SM - e^{-(|x|^2 + |y|^2)/2})^2`. It is tight for small s, where the exact gap is `SM^2 s^2 / (2 (D + 2))`
 * times `(M - 1) / M`. A constant factor of estimates cancels.
 *
 * Source: Choromanski et al. 2021, arXiv:2009.14794v3 and later, Theorem 2; more than one block: derived here.
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
