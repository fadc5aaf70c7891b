/**
 * Where one feature map of the softmax kernel overtakes another: laws of relative variance with i.i.d. rows, as functions
 * of the norm of both vectors and their angle.
 *
 * With t = norm^2, `|x + y|^2 = 2 t (1 + cos)` decides positive and hyperbolic features, `|x - y|^2 = 2 t (1 - cos)` trigonometric
 * ones. Hyperbolic ones never vary more than positive ones, at equal M and at equal F; against trigonometric ones an obtuse
 * angle decides, whatever the norms. Only positive and trigonometric ones cross at a norm.
 *
 * Source: derived from Choromanski et al. 2021, arXiv:2009.14794, Lemma 2.
 */
import {pairedGrowth} from './row-product.js'

/** Feature maps of the softmax kernel. */
export type SoftmaxMap = 'positive' | 'hyperbolic' | 'trigonometric'

/** What is equal: rows M, or features F (hyperbolic and trigonometric maps make two of a row). */
export type Budget = 'M' | 'F'

/** Features that a row makes. */
const FEATURES_PER_ROW: Readonly<Record<SoftmaxMap, 1 | 2>> = {
  positive: 1,
  hyperbolic: 2,
  trigonometric: 2,
}

/** Relative variance times M, or times F, for vectors of one norm at an angle. @param angle - in radians */
export function unitVariance(map: SoftmaxMap, norm: number, angle: number, budget: Budget): number {
  // 1 + cos = 2 cos^2 of the half, 1 - cos = 2 sin^2: nothing cancels
  const half = (map === 'trigonometric' ? Math.sin : Math.cos)(angle / 2)
  const exponent = 4 * norm ** 2 * half ** 2
  const single = map === 'positive' ? Math.expm1(exponent) : pairedGrowth(exponent) / 2
  return budget === 'M' ? single : single * FEATURES_PER_ROW[map]
}

/** Beyond it exponents leave the range of doubles; `4 norm^2` at most. */
const LARGEST_NORM = 13

/**
 * The norm of both vectors from which positive features vary less than trigonometric ones: below it the latter do.
 *
 * The ratio of the laws falls with the norm at every obtuse angle: the logarithmic slope of `e^{a t} - 1`,
 * `a/2 (1 + coth(a t/2))`, stays below that of `e^{b t} - 2 + e^{-b t}`, `b coth(b t/2)`, where a < b. At other angles
 * a >= b, and the ratio is above 1 throughout. Found by bisection, to the last bit.
 *
 * @param angle - in radians, from 0 to pi
 * @returns 0 where positive features vary less at every norm (opposite vectors, which they estimate exactly); `Infinity` where
 * they never do (angles up to a right one), or not within doubles
 */
export function positiveOvertakesAt(angle: number, budget: Budget): number {
  const ahead = (norm: number) =>
    unitVariance('positive', norm, angle, budget) <
    unitVariance('trigonometric', norm, angle, budget)
  if (!(angle > Math.PI / 2)) return Number.POSITIVE_INFINITY
  // cos(pi / 2) in doubles is 6e-17, no zero
  if (angle >= Math.PI) return 0
  if (!ahead(LARGEST_NORM)) return Number.POSITIVE_INFINITY
  return bisect(ahead, 0, LARGEST_NORM)
}

/** The first double at which a condition holds that does so from some point on. @param high - it holds there */
function bisect(holds: (at: number) => boolean, low: number, high: number): number {
  for (;;) {
    const middle = (low + high) / 2
    if (!(middle > low && middle < high)) return high
    if (holds(middle)) high = middle
    else low = middle
  }
}
