/**
 * Variance of kernel estimates from rows that depend on each other in a known way, exactly: rows of orthogonal blocks, of
 * blocks that point to the vertices of a simplex, and of pairs w, -w. Each row by itself is normal (or on the sphere).
 *
 * With p ordered pairs of rows that share a block, `Var = (M v + p c) / M^2`, v the variance of one row's product and c the
 * covariance of two. Blocks are independent of each other; the last one may have fewer rows.
 */
import {panels} from './quadrature.js'
import {type RowProduct, relativeRowVariance} from './row-product.js'
import {logSphereMean} from './sphere.js'

/** Projections other than `iid` with a variance in closed form; `orth` with Haar signs. */
export const DEPENDENT_ROWS = ['orth', 'simplex', 'antithetic'] as const
export type DependentRows = (typeof DEPENDENT_ROWS)[number]

/** Rows and columns of a projection. */
export interface BlockShape {
  /** D */
  headDim: number
  /** M */
  numFeatures: number
}

/** Beyond it the relative variance of one row leaves the range of doubles. */
const LARGEST_EXPONENT = 700

/**
 * Variance of an estimate over that of the same number of i.i.d. rows: `1 + p c / (M v)`. What scales an estimate or
 * adds a constant to it cancels.
 *
 * @returns `NaN` where one row's product does not vary, or beyond doubles
 */
export function ratioToIid(rows: DependentRows, product: RowProduct, size: BlockShape): number {
  const single = relativeRowVariance(product, size.headDim)
  if (!(single > 0) || product.squaredNorm > LARGEST_EXPONENT) return Number.NaN
  const pairs = sharedPairs(rows, size)
  if (pairs === 0) return 1
  const covariance = relativeCovariance(rows, product, size.headDim)
  return 1 + ((pairs / size.numFeatures) * covariance) / single
}

/** Ordered pairs of different rows that depend on each other. */
export function sharedPairs(rows: DependentRows, {headDim, numFeatures}: BlockShape): number {
  const block = rows === 'antithetic' ? 2 : headDim
  const last = numFeatures % block
  return Math.floor(numFeatures / block) * block * (block - 1) + last * (last - 1)
}

/**
 * Covariance of the products of two rows that share a block, over the squared mean of one.
 *
 * @param headDim - D, at least 2 where rows share blocks of D
 */
export function relativeCovariance(
  rows: DependentRows,
  product: RowProduct,
  headDim: number,
): number {
  if (rows === 'antithetic') return oppositeCovariance(product, headDim)
  const cosine = rows === 'orth' ? 0 : -1 / (headDim - 1)
  const {shape, squaredNorm, sphere} = product
  if (sphere) {
    // |w_1 + w_2|^2 = 2 D (1 + cosine)
    const both = logSphereMean(headDim, 2 * (1 + cosine) * squaredNorm)
    return Math.expm1(both - 2 * logSphereMean(headDim, squaredNorm))
  }
  if (shape === 'exp') return exponentialCovariance({squaredNorm, headDim, cosine, sign: 1})
  // 2 cosh a cosh b = cosh(a + b) + cosh(a - b), the same of cosines, and odd moments vanish
  const sign = shape === 'cosh' ? 1 : -1
  const sum = exponentialCovariance({squaredNorm, headDim, cosine, sign})
  if (cosine === 0) return sum
  return (sum + exponentialCovariance({squaredNorm, headDim, cosine: -cosine, sign})) / 2
}

/** Of w and -w: an exponential's product is constant, an even function sees one row twice. */
function oppositeCovariance(product: RowProduct, headDim: number): number {
  if (product.shape !== 'exp') return relativeRowVariance(product, headDim)
  const logMean = product.sphere
    ? logSphereMean(headDim, product.squaredNorm)
    : product.squaredNorm / 2
  return Math.expm1(-2 * logMean)
}

/** Two rows of chi lengths and a fixed cosine, under a common Haar rotation. */
interface PairOfRows {
  /** s = |z|^2 */
  squaredNorm: number
  headDim: number
  /** Between the rows. */
  cosine: number
  /** 1: of exponentials; -1: of cosines of the sum. */
  sign: 1 | -1
}

/**
 * `E e^{(w_1 + w_2).z} e^{-s} - 1`, or with cosines `E cos((w_1 + w_2).z) e^s - 1`.
 *
 * The sum has uniform direction and the squared length `R^2 (1 + cosine sin a)`, R^2 chi-square with 2 D degrees of
 * freedom and a, independent of it, with density proportional to `sin^(D-1) a` on [0, pi]. So the result is the one
 * for orthogonal rows at `s (1 + cosine sin a)`, in the mean over a.
 */
function exponentialCovariance({squaredNorm: s, headDim, cosine, sign}: PairOfRows): number {
  if (cosine === 0) return orthogonalCovariance(s, headDim, sign)
  let [total, mean] = [0, 0]
  for (const [offset, weight] of angleNodes(headDim, s * Math.abs(cosine))) {
    const sine = Math.cos(offset) // offset from pi / 2
    const density = weight * sine ** (headDim - 1)
    const change = sign * s * cosine * sine
    const own = orthogonalCovariance(s * (1 + cosine * sine), headDim, sign)
    total += density
    mean += density * (Math.expm1(change) + Math.exp(change) * own)
  }
  return mean / total
}

/** `cos^(D-1)` of more than this over sqrt(D) is below 1e-17. */
const REACH = 9
/** Largest change of an exponent within a panel. */
const CHANGE = 10

/** Nodes on the half of the density that mirrors the other. @param slope - of exponents over the sine */
function angleNodes(headDim: number, slope: number): [number, number][] {
  const reach = Math.min(Math.PI / 2, REACH / Math.sqrt(headDim - 1))
  return panels(0, reach, Math.min(reach / 4, CHANGE / (1 + slope)))
}

/**
 * Covariance of two rows of an orthogonal block, relative to the squared mean. From
 * `E e^{(w_1 + w_2).z} = sum_k s^k / (2k)! E R^{2k} E u^{2k} = 1F1(D; D/2; s/2)`, R^2 chi-square with 2 D degrees of freedom
 * and u one coordinate of a uniform direction, and Kummer's transformation, with x = s/2 and sign +1 or -1:
 *
 * `-e^{-sign x} sum_k (sign x)^k / k! (1 - p_k)`, `p_k = prod_{i < k} (D - 2i) / (D + 2i)`.
 *
 * Exponentials: all terms have one sign, so that the covariance is negative at every norm. Cosines: sizes of terms add
 * up to e^s, the size of one row's relative variance, so that no more than its last digits are lost. In the limit of
 * small s both are `-s^2 / (2 (D + 2))`.
 *
 * Source: derived here; setting: Choromanski et al. 2021, arXiv:2009.14794, Theorem 2; transformation: DLMF 13.2.39.
 */
function orthogonalCovariance(s: number, headDim: number, sign: 1 | -1): number {
  const x = s / 2
  let term = sign * x // (sign x)^k / k! at k = 1
  let [p, missing] = [1, 0] // p_1, 1 - p_1
  let sum = 0
  for (let k = 1; ; k++) {
    missing += (p * 4 * k) / (headDim + 2 * k)
    p *= (headDim - 2 * k) / (headDim + 2 * k)
    term *= (sign * x) / (k + 1)
    sum += term * missing
    if (k > x && Math.abs(term) <= 2 ** -60 * Math.abs(sum)) return -Math.exp(-sign * x) * sum
  }
}
