/** Moments of the angular hybrid estimate: a mixture whose weight all rows share. */
import {angleShare, angularHybridVariance, softmaxKernel, squaredNorms} from './kernels.js'
import type {Moments} from './moments.js'
import {planeMeans} from './plane.js'

/** E a^i b^j of the centred estimates of one row, hyperbolic a and trigonometric b. */
interface MixedMoments {
  second: readonly [aa: number, ab: number, bb: number]
  /** i = 4 .. 0, j = 4 - i */
  fourth: readonly number[]
}

/**
 * Moments of `lambda A + (1 - lambda) B`, see `angularHybridVariance`. With lambda given, M rows are independent
 * copies of `d = lambda a + (1 - lambda) b`, so that `E (estimate - mean)^4 = E[(M E d^4 + 3 M (M - 1) (E d^2)^2)] / M^4`,
 * the outer mean over lambda = j / n, j binomial. Means of a^i b^j by quadrature.
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
  if (!(variance > 0)) return {mean, variance, kurtosis: 0}
  const mixed = mixedMoments(x, y, mean)
  const share = angleShare(x, y)
  const fourth = overBinomial(signFeatures, reversed ? 1 - share : share, lambda => {
    const {second, fourth} = atShare(mixed, lambda)
    return (fourth + 3 * (numFeatures - 1) * second ** 2) / numFeatures ** 3
  })
  const kurtosis = fourth / variance ** 2 - 3
  return {mean, variance, kurtosis: Number.isNaN(kurtosis) ? Number.POSITIVE_INFINITY : kurtosis}
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

/** E d^2 and E d^4 at one lambda. */
function atShare({second, fourth}: MixedMoments, lambda: number) {
  const [p, q] = [lambda, 1 - lambda]
  const [aa, ab, bb] = second
  const binomials = [1, 4, 6, 4, 1]
  return {
    second: p * p * aa + 2 * p * q * ab + q * q * bb,
    fourth: fourth.reduce((sum, m, j) => sum + binomials[j]! * p ** (4 - j) * q ** j * m, 0),
  }
}

/** Mean of f(j / n), j ~ Binomial(n, p). */
function overBinomial(n: number, p: number, f: (lambda: number) => number): number {
  let sum = 0
  let choose = 1
  for (let j = 0; j <= n; j++) {
    const weight = choose * p ** j * (1 - p) ** (n - j)
    if (weight > 0) sum += weight * f(j / n)
    choose *= (n - j) / (j + 1)
  }
  return sum
}
