/** Expectations over directions: the kernel that random vectors of fixed length estimate. */
import {squaredNorms} from './kernels.js'
import {type Moments, relativeKurtosis} from './moments.js'
import type {TargetKernel} from './target-kernel.js'

/** Sums are scaled down by this before they leave the range of doubles. */
const RESCALE = 2 ** -512

/**
 * `log E exp(w.z)` for w uniform on the sphere of radius sqrt(D):
 * `log 0F1(; D/2; D |z|^2 / 4) = log(Gamma(D/2) (2/r)^(D/2-1) I_(D/2-1)(r))`, r = sqrt(D) |z|.
 *
 * By the power series: all terms are positive, so nothing cancels. K terms, about r/2 + D before they vanish, have
 * an error of at most (5K + 2) units of 2^-53; the rest of the series, a geometric one at least, is below one more.
 *
 * @param dim - D
 * @param squaredNorm - |z|^2
 */
export function logSphereMean(dim: number, squaredNorm: number): number {
  const argument = (dim * squaredNorm) / 4
  let term = 1
  let sum = 1
  let rescaled = 0
  for (let k = 0; ; k++) {
    const ratio = argument / ((k + 1) * (dim / 2 + k))
    term *= ratio
    sum += term
    if (ratio < 0.5 && term < sum * 2 ** -54) break
    if (sum > 1 / RESCALE) {
      sum *= RESCALE
      term *= RESCALE
      rescaled++
    }
  }
  return Math.log(sum) - rescaled * Math.log(RESCALE)
}

/**
 * The regularised softmax kernel: E of the positive estimate with w uniform on the sphere of radius sqrt(D),
 * `e^{-(|x|^2+|y|^2)/2} E exp(w.(x+y))`; never above the softmax kernel.
 *
 * Source: Choromanski et al. 2021, arXiv:2009.14794, theorem 1.
 */
export function smregKernel(x: Float64Array, y: Float64Array): number {
  const norms = squaredNorms(x, y)
  return Math.exp(logSphereMean(x.length, norms.sum) - (norms.x + norms.y) / 2)
}

export const smreg: TargetKernel = {
  weight: smregKernel,
  logarithmic: true,
  rowWeight({dot, xLength, yLength, dim}) {
    const yNorm = yLength ** 2
    return logSphereMean(dim, xLength ** 2 + yNorm + 2 * dot) - yNorm / 2
  },
  logRowFactor: xLength => -(xLength ** 2) / 2,
}

/**
 * Variance of the positive estimate of SMREG with independent rows: the mean square of one row's
 * product is `e^{-(|x|^2+|y|^2)} E exp(2 w.(x+y))`.
 */
export function smregVariance(x: Float64Array, y: Float64Array, numFeatures: number): number {
  const norms = squaredNorms(x, y)
  const mean = logSphereMean(x.length, norms.sum)
  const square = logSphereMean(x.length, 4 * norms.sum)
  return (Math.exp(2 * mean - norms.x - norms.y) * Math.expm1(square - 2 * mean)) / numFeatures
}

/** `exp(w.(x+y) - (|x|^2+|y|^2)/2)`, w uniform of length sqrt(D): its powers are such numbers of k (x+y). */
export function smregRow(x: Float64Array, y: Float64Array): Moments {
  const {sum} = squaredNorms(x, y)
  const mean = logSphereMean(x.length, sum)
  const logs = [2, 3, 4].map(k => logSphereMean(x.length, k * k * sum) - k * mean)
  const [log2, log3, log4] = logs as [number, number, number]
  return {
    mean: smregKernel(x, y),
    variance: smregVariance(x, y, 1),
    kurtosis: relativeKurtosis(log2, log3, log4),
  }
}

/**
 * SMREG over SM, `E exp(w.z) e^{-|z|^2/2}` with w uniform of length sqrt(D) and z = x + y: at most 1, and a function of
 * |x + y| and D alone.
 *
 * @param squaredNorm - |x + y|^2
 */
export function smregRatio(dim: number, squaredNorm: number): number {
  return Math.exp(logSphereMean(dim, squaredNorm) - squaredNorm / 2)
}

/**
 * The least of that ratio over an attention matrix with bounded logits, up to terms that vanish against D^(-1/3):
 * `1 - 2 D^(-1/3)`. It holds for large D: it is negative up to D = 8.
 *
 * Source: Choromanski et al. 2021, arXiv:2009.14794, Theorem 1.
 */
export function smregRatioBound(dim: number): number {
  return 1 - 2 * dim ** (-1 / 3)
}
