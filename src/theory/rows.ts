/**
 * What the product of one random row's features varies by: its mean, variance and kurtosis, from which those
 * of M i.i.d. rows follow (`averaged`). Vectors are canonical, rows w ~ N(0, I).
 */
import {
  arcCosineKernel,
  exponentialKernel,
  exponentialVariance,
  fourierVariance,
  gaussianKernel,
  hyperbolicVariance,
  positiveVariance,
  rectifiedVariance,
  softmaxKernel,
  squaredNorms,
  trigonometricVariance,
} from './kernels.js'
import {type Moments, relativeKurtosis} from './moments.js'
import {planeMoments} from './plane.js'

/** `exp(w.(x+y) - (|x|^2+|y|^2)/2)`. */
export function positiveRow(x: Float64Array, y: Float64Array): Moments {
  return {
    mean: softmaxKernel(x, y),
    variance: positiveVariance(x, y, 1),
    kurtosis: lognormalKurtosis(squaredNorms(x, y).sum),
  }
}

/** `exp(w.(x+y))`. */
export function exponentialRow(x: Float64Array, y: Float64Array): Moments {
  return {
    mean: exponentialKernel(x, y),
    variance: exponentialVariance(x, y, 1),
    kurtosis: lognormalKurtosis(squaredNorms(x, y).sum),
  }
}

/** `exp(-(|x|^2+|y|^2)/2) cosh(w.(x+y))`. */
export function hyperbolicRow(x: Float64Array, y: Float64Array): Moments {
  const variance = hyperbolicVariance(x, y, 1)
  const kurtosis = cosineKurtosis(Math.exp(squaredNorms(x, y).sum))
  return {mean: softmaxKernel(x, y), variance, kurtosis: variance === 0 ? 0 : kurtosis}
}

/** `exp((|x|^2+|y|^2)/2) cos(w.(x-y))`. */
export function trigonometricRow(x: Float64Array, y: Float64Array): Moments {
  const variance = trigonometricVariance(x, y, 1)
  const kurtosis = cosineKurtosis(Math.exp(-squaredNorms(x, y).difference))
  return {mean: softmaxKernel(x, y), variance, kurtosis: variance === 0 ? 0 : kurtosis}
}

/** `cos(w.(x-y))`. */
export function fourierRow(x: Float64Array, y: Float64Array): Moments {
  const variance = fourierVariance(x, y, 1)
  const kurtosis = cosineKurtosis(Math.exp(-squaredNorms(x, y).difference))
  return {mean: gaussianKernel(x, y), variance, kurtosis: variance === 0 ? 0 : kurtosis}
}

/** Excess kurtosis of exp(t), t ~ N(0, s): `e^{4s} + 2 e^{3s} + 3 e^{2s} - 6`. */
export function lognormalKurtosis(s: number): number {
  return Math.expm1(4 * s) + 2 * Math.expm1(3 * s) + 3 * Math.expm1(2 * s)
}

/**
 * Excess kurtosis of cosh(t) (q = e^s) and of cos(t) (q = e^-s), t ~ N(0, s):
 * `(q^4 + 4 q^3 + 10 q^2 + 12 q + 3) / 2 - 3`.
 *
 * From `cosh^4 t = (cosh 4t + 4 cosh 2t + 3) / 8` and `E cosh(k t) = q^(k^2/2)`: the fourth central moment is
 * `(q - 1)^4 (q^4 + 4 q^3 + 10 q^2 + 12 q + 3) / 8`, and the squared variance is `(q - 1)^4 / 4`, so that nothing
 * cancels; 12 in the limit of small s, where 1 - cos t is t^2 / 2.
 */
export function cosineKurtosis(q: number): number {
  return ((((q + 4) * q + 10) * q + 12) * q + 3) / 2 - 3
}

/** One term of a sum of lognormal numbers: `exp(log + w.(a x + b y))`. */
interface LognormalTerm {
  log: number
  a: number
  b: number
}

/**
 * `(e^{w.x - h |x|^2/2} + epsilon) (e^{w.y - h |y|^2/2} + epsilon)`. All moments are sums of exponentials. h = 1
 * for positive features, 0 for features without norms.
 */
export function shiftedExponentialRow(
  x: Float64Array,
  y: Float64Array,
  epsilon: number,
  h: 0 | 1,
): Moments {
  const norms = squaredNorms(x, y)
  const own = {x: (-h * norms.x) / 2, y: (-h * norms.y) / 2}
  const logEpsilon = Math.log(epsilon)
  const terms = [
    {log: own.x + own.y, a: 1, b: 1},
    {log: logEpsilon + own.x, a: 1, b: 0},
    {log: logEpsilon + own.y, a: 0, b: 1},
  ]
  // the constant term, epsilon^2, varies by nothing
  const logMean = logMoment(terms, 1, x, y)
  const logs = [2, 3, 4].map(power => logMoment(terms, power, x, y) - power * logMean)
  const [log2, log3, log4] = logs as [number, number, number]
  const random = Math.exp(logMean)
  return {
    mean: random + epsilon ** 2,
    variance: random ** 2 * Math.expm1(log2),
    kurtosis: relativeKurtosis(log2, log3, log4),
  }
}

/** ln E (sum of terms)^power, by the multinomial theorem: all terms are positive. */
function logMoment(
  terms: readonly LognormalTerm[],
  power: number,
  x: Float64Array,
  y: Float64Array,
): number {
  const norms = squaredNorms(x, y)
  const cross = (norms.sum - norms.x - norms.y) / 2
  // every ordered choice of `power` terms
  let choices: LognormalTerm[] = [{log: 0, a: 0, b: 0}]
  for (let factor = 0; factor < power; factor++) {
    choices = choices.flatMap(one =>
      terms.map(({log, a, b}) => ({log: one.log + log, a: one.a + a, b: one.b + b})),
    )
  }
  const logs = choices.map(
    ({log, a, b}) => log + (a * a * norms.x + 2 * a * b * cross + b * b * norms.y) / 2,
  )
  const largest = Math.max(...logs)
  return largest + Math.log(logs.reduce((sum, log) => sum + Math.exp(log - largest), 0))
}

/** `(relu(w.x) + epsilon) (relu(w.y) + epsilon)`; the fourth moment by quadrature. */
export function rectifiedRow(x: Float64Array, y: Float64Array, epsilon = 0): Moments {
  const norms = squaredNorms(x, y)
  const single = (Math.sqrt(norms.x) + Math.sqrt(norms.y)) / Math.sqrt(2 * Math.PI)
  const mean = arcCosineKernel(x, y) + epsilon * single + epsilon ** 2
  const row = planeMoments(
    (u, v) => (Math.max(0, u) + epsilon) * (Math.max(0, v) + epsilon),
    x,
    y,
    mean,
  )
  if (epsilon > 0) return row
  const variance = rectifiedVariance(x, y, 1)
  return {mean, variance, kurtosis: variance > 0 ? row.kurtosis : 0}
}
