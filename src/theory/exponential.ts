/**
 * Closed forms of generalised exponential features of the softmax kernel,
 * `phi(x) = D0 exp(w.A w + w.(I - 4A)^(1/2) x - |x|^2/2)` with a symmetric matrix A below 1/8: their variance and
 * the best A. Everything is per axis of A, with the eigenvalue `a`.
 *
 * Source: Likhosherstov et al. 2022, arXiv:2205.15317 (one a); 2023, arXiv:2302.00787 (one per axis).
 */

/**
 * The exponent that minimises the mean log second moment along an axis, `-t/2` for small t and `-t/4`
 * for large: equal to `(1 - 2t - sqrt((2t + 1)^2 + 8t)) / 16`, rearranged so that nothing cancels.
 *
 * @param t - mean of (x + y)^2 along the axis, canonical, at least 0
 * @returns a, at most 0
 */
export function optimalExponent(t: number): number {
  return -t / (1 + (12 * t + 1) / (2 * t + Math.sqrt(1 + 12 * t + 4 * t * t)))
}

/**
 * {@link optimalExponent} with the axes' number and the summed mean exchanged under the root,
 * `rho = (sqrt((2d + phi)^2 + 8 d phi) - 2d - phi) / (4 phi)`, `a = (1 - 1/rho) / 8`: as a transcription of
 * the formula has it. Tends to -1/8 instead of 0 for small t, and is never better.
 */
export function swappedExponent(t: number): number {
  const sum = 2 + t
  return (1 - (sum + Math.sqrt(sum * sum + 8 * t)) / 2) / 8
}

/**
 * Contribution of axes with exponent a to the log of E[(phi(x) phi(y))^2] / SM(x, y)^2:
 * `axes (ln(1 - 4a) - ln(1 - 8a)/2) + u / (1 - 8a)`. The relative variance of M independent rows is
 * `expm1` of the sum over all axes, divided by M; with a = 0 that is the law of positive features.
 *
 * @param a - below 1/8
 * @param axes - how many
 * @param u - squared length of x + y along them
 */
export function logSecondMoment(a: number, axes: number, u: number): number {
  return logRelativeMoment(2, a, axes, u)
}

/**
 * Contribution of axes with exponent a to the log of E[(phi(x) phi(y))^k] / SM(x, y)^k:
 * `axes (k ln(1 - 4a) - ln(1 - 4ka)) / 2 + k (k - 1) u / (2 (1 - 4ka))`, from
 * `E exp(p w^2 + b w) = (1 - 2p)^(-1/2) exp(b^2 / (2 (1 - 2p)))` at p = 2ka.
 *
 * @param k - the moment's order
 * @param a - below 1/8
 * @param axes - how many
 * @param u - squared length of x + y along them
 * @returns `Infinity` from a = 1/(4k) on: there is no such moment
 */
export function logRelativeMoment(k: number, a: number, axes: number, u: number): number {
  const room = 1 - 4 * k * a
  if (room <= 0) return Number.POSITIVE_INFINITY
  const volume = (axes * (k * Math.log1p(-4 * a) - Math.log1p(-4 * k * a))) / 2
  return volume + (k * (k - 1) * u) / (2 * room)
}
