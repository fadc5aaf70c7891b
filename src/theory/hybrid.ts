/** Moments of the angular hybrid estimate: a mixture with a weight that all rows share. */
import {angleShare, angularHybridVariance, softmaxKernel, squaredNorms} from './kernels.js'
import type {Moments} from './moments.js'
import {planeMeans} from './plane.js'

/** Of a squared mean: variances below are what differences of squared norms leave in doubles. */
const ROUNDING = 2 ** -50

/** E a^i b^j of the centred estimates of one row, hyperbolic a and trigonometric b. */
interface MixedMoments {
  second: readonly [aa: number, ab: number, bb: number]
  /** i = 4 .. 0, j = 4 - i */
  fourth: readonly number[]
}

/**
 * Moments of `lambda A + (1 - lambda) B`, see `angularHybridVariance`. With lambda given, M rows are independent
 * copies of `d = lambda a + (1 - lambda) b`, so that `E (estimate - mean)^4 = E[(M E d^4 + 3 M (M - 1) (E d^2)^2)] / M^4`,
 * the outer mean over lambda = j / n, j binomial: both terms are polynomials of degree 4 in lambda. Means of
 * a^i b^j by quadrature. Kurtosis is 0 where the variance is no more than rounding.
 */
export function angularHybridMoments(
  x: Float64Array,
  y: Float64Array,
  numFeatures: number,
  signFeatures: number,
  reversed = false,
): Moments {
  const mean = softmaxKernel(x, y)
  const variance = angularHybridVariance(x, y, numFeatures, signFeatures, reversed)
  if (variance <= ROUNDING * mean ** 2) return {mean, variance, kurtosis: 0}
  if (!Number.isFinite(variance)) return {mean, variance, kurtosis: Number.POSITIVE_INFINITY}
  const mixed = mixedMoments(x, y, mean)
  const share = angleShare(x, y)
  const shares = shareMoments(signFeatures, reversed ? 1 - share : share)
  const fourth = shares.reduce(
    (sum, moment, j) => sum + moment * fourthTerm(mixed, numFeatures, j),
    0,
  )
  const kurtosis = fourth / variance ** 2 - 3
  return {mean, variance, kurtosis: Number.isNaN(kurtosis) ? Number.POSITIVE_INFINITY : kurtosis}
}

/** What lambda^(4-j) (1 - lambda)^j counts in `(E d^4 + 3 (M - 1) (E d^2)^2) / M^3`. */
function fourthTerm({second, fourth}: MixedMoments, numFeatures: number, j: number): number {
  const [aa, ab, bb] = second
  const squared = [aa ** 2, 4 * aa * ab, 2 * aa * bb + 4 * ab ** 2, 4 * ab * bb, bb ** 2]
  return (BINOMIALS[j]! * fourth[j]! + 3 * (numFeatures - 1) * squared[j]!) / numFeatures ** 3
}

function mixedMoments(x: Float64Array, y: Float64Array, mean: number): MixedMoments {
  const norms = squaredNorms(x, y)
  const factor = Math.exp((norms.x + norms.y) / 2)
  const [aa, ab, bb, ...fourth] = planeMeans(
    (u, v) => {
      const a = Math.cosh(u + v) / factor - mean
      const b = Math.cos(u - v) * factor - mean
      const [a2, b2, both] = [a * a, b * b, a * b]
      return [a2, both, b2, a2 * a2, a2 * both, a2 * b2, both * b2, b2 * b2]
    },
    8,
    x,
    y,
  )
  return {second: [aa!, ab!, bb!], fourth}
}

/** `C(4, j)` */
const BINOMIALS = [1, 4, 6, 4, 1]

/**
 * E lambda^(4-j) (1 - lambda)^j, j = 0 .. 4, from the central moments of lambda: with e = lambda - p and
 * v = p (1 - p) / n these are 0, v, v (1 - 2p) / n and 3 v^2 + v (1 - 6 p (1 - p)) / n^2, which hold for any n.
 */
function shareMoments(n: number, p: number): number[] {
  const q = 1 - p
  const v = (p * q) / n
  const central = [1, 0, v, (v * (q - p)) / n, 3 * v ** 2 + (v * (1 - 6 * p * q)) / n ** 2]
  return BINOMIALS.map((_, j) => {
    // coefficients of (p + e)^(4-j) (q - e)^j
    let powers = [1]
    for (let factor = 0; factor < 4; factor++) {
      powers = factor < 4 - j ? timesLinear(powers, p, 1) : timesLinear(powers, q, -1)
    }
    return powers.reduce((sum, power, k) => sum + power * central[k]!, 0)
  })
}

/** Coefficients of a polynomial times `constant + slope e`. */
function timesLinear(powers: readonly number[], constant: number, slope: number): number[] {
  return [...powers, 0].map((power, k) => constant * power + slope * (powers[k - 1] ?? 0))
}
