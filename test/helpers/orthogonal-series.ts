/** Variance of estimates from orthogonal rows, exactly, as a series: another road than any draw. */

/**
 * E[f(w_1) f(w_2)] of two rows of an orthogonal block with chi lengths, for f(w) = exp(w.z) (sign 1, also
 * cosh) or cos(w.z) (sign -1): `sum_k sign^k |z|^{2k}/(2k)! E[R^{2k}] E[u^{2k}]`, R^2 = r_1^2 + r_2^2 chi-square with 2D
 * degrees of freedom and u one coordinate of a direction.
 */
function crossMoment(squaredNorm: number, dim: number, sign: 1 | -1): number {
  let term = 1
  let sum = 1
  for (let k = 0; Math.abs(term) > 1e-17 * Math.abs(sum) || k < 2 * squaredNorm; k++) {
    // ratios of |z|^2k / (2k)!, of E chi^2k = 2^k (D)_k, and of E u^2k = (1/2)_k / (D/2)_k
    const ratio = squaredNorm / ((2 * k + 1) * (2 * k + 2))
    term *= (sign * ratio * 2 * (dim + k) * (k + 0.5)) / (dim / 2 + k)
    sum += term
  }
  return sum
}

/**
 * Relative variance of the estimate from M orthogonal rows, relative to E f^2 of the kernel.
 *
 * @param single - relative variance of one row
 * @param squaredNorm - |x+y|^2 for exponentials, |x-y|^2 for cosines
 */
export function orthogonalVariance(
  {single, squaredNorm, sign}: {single: number; squaredNorm: number; sign: 1 | -1},
  {dim, numFeatures}: {dim: number; numFeatures: number},
): number {
  const covariance = crossMoment(squaredNorm, dim, sign) * Math.exp(-sign * squaredNorm) - 1
  let pairs = 0
  for (let first = 0; first < numFeatures; first += dim) {
    const rows = Math.min(dim, numFeatures - first)
    pairs += rows * (rows - 1)
  }
  return (numFeatures * single + pairs * covariance) / numFeatures ** 2
}
