/**
 * Closed forms of the kernels that features estimate and of the variance of the estimates, for
 * M i.i.d. rows. Vectors are canonical (softmax logits are plain inner products).
 */
import type {TargetKernel} from './target-kernel.js'

/** x.y */
export function dot(x: Float64Array, y: Float64Array): number {
  let sum = 0
  for (let d = 0; d < x.length; d++) sum += x[d]! * y[d]!
  return sum
}

/**
 * |x|^2, |y|^2, |x+y|^2 and |x-y|^2. The last two are sums of squares: from inner products they would lose all digits
 * where vectors are opposite or equal, and come out below zero.
 */
export function squaredNorms(x: Float64Array, y: Float64Array) {
  let [sum, difference] = [0, 0]
  for (let d = 0; d < x.length; d++) {
    sum += (x[d]! + y[d]!) ** 2
    difference += (x[d]! - y[d]!) ** 2
  }
  return {x: dot(x, x), y: dot(y, y), sum, difference}
}

/** The softmax kernel SM(x, y) = exp(x.y). */
export function softmaxKernel(x: Float64Array, y: Float64Array): number {
  return Math.exp(dot(x, y))
}

export const softmax: TargetKernel = {
  weight: softmaxKernel,
  logarithmic: true,
  rowWeight: ({dot}) => dot,
  logRowFactor: () => 0,
  keyBias: () => 0,
}

/** The Gaussian kernel exp(-|x-y|^2/2). */
export function gaussianKernel(x: Float64Array, y: Float64Array): number {
  return Math.exp(-squaredNorms(x, y).difference / 2)
}

export const gaussian: TargetKernel = {
  weight: gaussianKernel,
  logarithmic: true,
  rowWeight: ({dot, yLength}) => dot - yLength ** 2 / 2,
  logRowFactor: xLength => -(xLength ** 2) / 2,
  keyBias: yLength => -(yLength ** 2) / 2,
}

/** E[exp(w.x) exp(w.y)] = exp(|x+y|^2/2), w ~ N(0, I): the moment-generating function at x + y. */
export function exponentialKernel(x: Float64Array, y: Float64Array): number {
  return Math.exp(squaredNorms(x, y).sum / 2)
}

export const exponential: TargetKernel = {
  weight: exponentialKernel,
  logarithmic: true,
  rowWeight: ({dot, yLength}) => dot + yLength ** 2 / 2,
  logRowFactor: xLength => xLength ** 2 / 2,
  keyBias: yLength => yLength ** 2 / 2,
}

/** Variance of its estimate: `(e^{2 |x+y|^2} - e^{|x+y|^2}) / M`, that of the positive one but for norms. */
export function exponentialVariance(x: Float64Array, y: Float64Array, numFeatures: number): number {
  const {sum} = squaredNorms(x, y)
  return (Math.exp(sum) * Math.expm1(sum)) / numFeatures
}

/**
 * E[relu(w.x) relu(w.y)], w ~ N(0, I): `|x||y| (sin t + (pi - t) cos t) / (2 pi)`, t the angle.
 *
 * Source: Cho & Saul 2009, order 1 (their kernel is twice this).
 */
export function arcCosineKernel(x: Float64Array, y: Float64Array): number {
  const {lengths, angle, sine, cosine} = angleBetween(x, y)
  return (lengths * (sine + (Math.PI - angle) * cosine)) / (2 * Math.PI)
}

/** Row weights are 2 pi times the kernel. They are not logarithms, since the weight of opposite vectors is 0. */
export const arcCosine: TargetKernel = {
  weight: arcCosineKernel,
  logarithmic: false,
  rowWeight({dot, xLength, yLength}) {
    const lengths = xLength * yLength
    if (lengths === 0) return 0
    const cosine = Math.max(-1, Math.min(1, dot / lengths))
    const angle = Math.acos(cosine)
    return lengths * (Math.sin(angle) + (Math.PI - angle) * cosine)
  },
  logRowFactor: () => -Math.log(2 * Math.PI),
}

/** |x||y| and the angle of two vectors; the sine is exactly 0 where the cosine is 1 or -1. */
function angleBetween(x: Float64Array, y: Float64Array) {
  const norms = squaredNorms(x, y)
  const lengths = Math.sqrt(norms.x * norms.y)
  const cosine = lengths === 0 ? 0 : Math.max(-1, Math.min(1, dot(x, y) / lengths))
  return {lengths, cosine, sine: Math.sqrt((1 - cosine) * (1 + cosine)), angle: Math.acos(cosine)}
}

/**
 * Variance of the positive estimate of SM: `e^{|x+y|^2} SM^2 (1 - e^{-|x+y|^2}) / M`.
 *
 * Source: Choromanski et al. 2021, arXiv:2009.14794, Lemma 2.
 */
export function positiveVariance(x: Float64Array, y: Float64Array, numFeatures: number): number {
  const {sum} = squaredNorms(x, y)
  return (softmaxKernel(x, y) ** 2 * Math.expm1(sum)) / numFeatures
}

/** Variance of the hyperbolic estimate (2M features): half of `(1 - e^{-|x+y|^2})` times the positive one. Lemma 2. */
export function hyperbolicVariance(x: Float64Array, y: Float64Array, numFeatures: number): number {
  const {sum} = squaredNorms(x, y)
  return -0.5 * Math.expm1(-sum) * positiveVariance(x, y, numFeatures)
}

/** Variance of the trigonometric estimate of SM: `e^{|x|^2+|y|^2} (1 - e^{-|x-y|^2})^2 / (2M)`. Lemma 2. */
export function trigonometricVariance(
  x: Float64Array,
  y: Float64Array,
  numFeatures: number,
): number {
  const norms = squaredNorms(x, y)
  return Math.exp(norms.x + norms.y) * fourierVariance(x, y, numFeatures)
}

/**
 * Variance of random Fourier features of the Gaussian kernel: `(1 - e^{-|x-y|^2})^2 / (2M)`.
 *
 * Source: Yu et al. 2016, arXiv:1610.09072.
 */
export function fourierVariance(x: Float64Array, y: Float64Array, numFeatures: number): number {
  return Math.expm1(-squaredNorms(x, y).difference) ** 2 / (2 * numFeatures)
}

/**
 * Variance of the rectified estimate of the arc-cosine kernel. With s and c the sine and cosine of
 * the angle t: `E[relu^2 relu^2] = |x|^2 |y|^2 ((pi - t)(1 + 2 c^2) + 3 s c) / (2 pi)`.
 *
 * Source: Cho & Saul 2009, order 2 (their kernel is twice the second moment).
 */
export function rectifiedVariance(x: Float64Array, y: Float64Array, numFeatures: number): number {
  const {lengths, angle, sine, cosine} = angleBetween(x, y)
  const secondMoment =
    (lengths ** 2 * ((Math.PI - angle) * (1 + 2 * cosine ** 2) + 3 * sine * cosine)) / (2 * Math.PI)
  return Math.max(0, secondMoment - arcCosineKernel(x, y) ** 2) / numFeatures
}

/**
 * Variance of the angular hybrid estimate of SM, `lambda A + (1 - lambda) B`, with A the hyperbolic and B the
 * trigonometric estimate of the same M rows and lambda the mean of n independent Bernoulli draws of mean
 * `p = angle / pi`, independent of A and B. With `v = p (1 - p) / n`:
 *
 * `(p^2 + v) Var A + ((1 - p)^2 + v) Var B + 2 (p (1 - p) - v) Cov`,
 * `Cov = SM^2 (cos(|x|^2 - |y|^2) - 1) / M`, since `E[cosh(w.s) cos(w.t)] = e^{(|s|^2 - |t|^2)/2} cos(s.t)` at
 * s = x + y, t = x - y. The means of A and B being equal, what lambda alone does cancels.
 *
 * Source: derived here; setting: Choromanski et al. 2022, arXiv:2110.04367, section 2.
 *
 * @param reversed - lambda weights B instead
 */
export function angularHybridVariance(
  x: Float64Array,
  y: Float64Array,
  numFeatures: number,
  signFeatures: number,
  reversed = false,
): number {
  const norms = squaredNorms(x, y)
  const share = angleShare(x, y)
  const p = reversed ? 1 - share : share
  const v = (p * (1 - p)) / signFeatures
  const covariance = (softmaxKernel(x, y) ** 2 * (Math.cos(norms.x - norms.y) - 1)) / numFeatures
  return (
    (p ** 2 + v) * hyperbolicVariance(x, y, numFeatures) +
    ((1 - p) ** 2 + v) * trigonometricVariance(x, y, numFeatures) +
    2 * (p * (1 - p) - v) * covariance
  )
}

/**
 * Angle between two vectors over pi; one half where a vector is zero: its signs agree by chance. An arc cosine
 * would lose half of the digits of angles near 0 and pi.
 *
 * Source: Kahan 2006, "How futile are mindless assessments of roundoff in floating-point computation?", section 12.
 */
export function angleShare(x: Float64Array, y: Float64Array): number {
  const norms = squaredNorms(x, y)
  const [xLength, yLength] = [Math.sqrt(norms.x), Math.sqrt(norms.y)]
  if (xLength * yLength === 0) return 0.5
  let [apart, together] = [0, 0]
  for (let d = 0; d < x.length; d++) {
    const [a, b] = [x[d]! * yLength, y[d]! * xLength]
    apart += (a - b) ** 2
    together += (a + b) ** 2
  }
  return (2 * Math.atan2(Math.sqrt(apart), Math.sqrt(together))) / Math.PI
}
