/** What one random row adds to a kernel estimate, as far as its variance over that of others is concerned. */
import {squaredNorms} from './kernels.js'
import {logSphereMean} from './sphere.js'

/**
 * A product of one row's features: a number that no row changes times a function of `t = w.z`, z one combination of x
 * and y: `exp(t)` (positive features, z = x + y), `cosh(t)` (hyperbolic ones) or `cos(t)` (trigonometric ones, z = x - y).
 */
export interface RowProduct {
  shape: 'exp' | 'cosh' | 'cos'
  /** |z|^2 */
  squaredNorm: number
  /** Rows are cut or stretched to the length sqrt(D); for `exp` alone. Default: as long as |N(0, I)|. */
  sphere?: boolean
}

/** Of features at z = x + y. */
export function sumProduct(shape: 'exp' | 'cosh', x: Float64Array, y: Float64Array): RowProduct {
  return {shape, squaredNorm: squaredNorms(x, y).sum}
}

/** Of sines and cosines: their products are cosines at z = x - y. */
export function differenceProduct(x: Float64Array, y: Float64Array): RowProduct {
  return {shape: 'cos', squaredNorm: squaredNorms(x, y).difference}
}

/** `e^u - 2 + e^-u`: half of it is the relative variance of cosh(t) and of cos(t), t ~ N(0, u). */
export function pairedGrowth(u: number): number {
  return 4 * Math.sinh(u / 2) ** 2
}

/**
 * Relative variance of one row's product, w ~ N(0, I): `e^s - 1` for exp, `(e^s - 2 + e^-s) / 2` for cosh and cos, s = |z|^2;
 * of rows on the sphere `E e^{2t} / (E e^t)^2 - 1`.
 *
 * Source: Choromanski et al. 2021, arXiv:2009.14794, Lemma 2, over the squared kernel.
 *
 * @param headDim - D, which matters on the sphere alone
 */
export function relativeRowVariance(product: RowProduct, headDim: number): number {
  const {shape, squaredNorm, sphere} = product
  if (sphere) {
    const log = logSphereMean(headDim, 4 * squaredNorm) - 2 * logSphereMean(headDim, squaredNorm)
    return Math.expm1(log)
  }
  return shape === 'exp' ? Math.expm1(squaredNorm) : pairedGrowth(squaredNorm) / 2
}
