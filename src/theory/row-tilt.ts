/** The laws of one row that make the moments of its product: `r_k = r g^k / E g^k`, r its own law, g the product. */
import {logSecondMoment} from './exponential.js'
import {logSphereMean} from './sphere.js'

/** What one row adds to an estimate, but for a constant: `exp(2 a |w|^2 + (1 - 4a)^(1/2) w.z)`. */
export interface RowTilt {
  /** |z|^2 */
  squaredNorm: number
  /** a, below 1/8: else the product has no second moment. Default 0. */
  exponent?: number
  /** It is the sum of this and the same with -z. */
  even?: boolean
  /** Rows, or what is taken of them, are of length sqrt(D); for a = 0 alone. */
  sphere?: boolean
  /** z, where features do not go by the sum of the two vectors. */
  direction?: Float64Array
}

/** Beyond it squares of densities leave the range of doubles. */
const LARGEST_LOG = 300

/** Whether both laws are there, and their densities within doubles. */
export function isTiltable(tilt: RowTilt, headDim: number): boolean {
  const log = logProductMoments(tilt, headDim).second
  return log <= LARGEST_LOG && tilt.squaredNorm <= LARGEST_LOG
}

/** `ln E g` and `ln (E g^2 / (E g)^2)` of one row. */
export function logProductMoments(
  {squaredNorm: s, exponent: a = 0, sphere}: RowTilt,
  headDim: number,
): {mean: number; second: number} {
  if (sphere) {
    const mean = logSphereMean(headDim, s)
    return {mean, second: logSphereMean(headDim, 4 * s) - 2 * mean}
  }
  if (a >= 1 / 8) return {mean: Number.NaN, second: Number.POSITIVE_INFINITY}
  return {mean: (s - headDim * Math.log1p(-4 * a)) / 2, second: logSecondMoment(a, headDim, s)}
}

/**
 * Mean and variance, along z and across, of the normal law of a row that makes moment k: density `N(0, I) g^k` but for a
 * constant. @returns `shift` times z is the mean, `spread` the standard deviation
 */
export function normalTilt(k: number, a: number): {shift: number; spread: number} {
  const variance = 1 / (1 - 4 * k * a)
  return {shift: k * Math.sqrt(1 - 4 * a) * variance, spread: Math.sqrt(variance)}
}

/**
 * Adds `r_1 / r` and `r_2 / r` at the rows of a matrix: each is a power of the product over its mean.
 *
 * @returns how to add the row with this product with z and this squared length, and the weight of a matrix: 3 over the
 * density of the mixture of the plain law and of those with one row tilted, over the plain law
 */
export function mixtureWeight(tilt: RowTilt, headDim: number) {
  const {exponent: a = 0, even, sphere} = tilt
  const {mean, second} = logProductMoments(tilt, headDim)
  const slope = Math.sqrt(1 - 4 * a)
  const shrink = Math.exp(-second)
  let [first, squares, rows] = [0, 0, 0]
  const add = (log: number, share: number) => {
    const density = Math.exp(log)
    first += share * density
    squares += share * density * density * shrink
  }
  return {
    add(product: number, squaredLength: number): void {
      const log = sphere ? product * Math.sqrt(headDim / squaredLength) : slope * product
      const rest = 2 * a * squaredLength - mean
      add(rest + log, even ? 0.5 : 1)
      if (even) add(rest - log, 0.5)
      rows++
    },
    /** Of the rows added since the last one. */
    take(): number {
      const weight = 3 / (1 + (first + squares) / rows)
      ;[first, squares, rows] = [0, 0, 0]
      return weight
    },
  }
}

/** How lengths of rows are drawn. */
export interface RowLengths {
  /** D */
  headDim: number
  /**
   * The law of what a length follows, which may be tilted: of P normals, or of D coordinates of a uniform vector of length sqrt(P) in P
   * dimensions; `undefined`: lengths are as the projection draws them.
   */
  lengths: {dim: number; sphere?: boolean} | undefined
}

/**
 * {@link mixtureWeight} of matrices under a common Haar rotation, whatever the law of their rows. Component k of one row takes
 * the length c of P normals that it follows by its part of `r_k`, and given the length l of the row its direction by
 * `exp(k w.z)`:
 *
 * `[e^{2ka c^2} O_P(k b c |z|) / N_k] [e^{k b w.z} / O_D(k b l |z|)]`, `b = (1 - 4a)^(1/2)`,
 *
 * O_n(r) the mean of `e^{r u}`, u an entry of a uniform direction in n dimensions, and `N_k` the mean of the first bracket's
 * numerator. For rows of N(0, I), where l = c and P = D, it is `r_k / r`. Where c is the length of D coordinates on a sphere of
 * P dimensions, the first bracket is `O_D(k b c |z|) / O_P(k b P^(1/2) |z|)`: factors e^{2ka c^2} are left to the weights.
 */
export function turnedWeight(tilt: RowTilt, {headDim, lengths}: RowLengths) {
  const {squaredNorm: s, exponent: a = 0, even, sphere} = tilt
  const [slope, norm] = [Math.sqrt(1 - 4 * a), Math.sqrt(s)]
  const {dim: lengthDim = headDim, sphere: drawn = false} = lengths ?? {}
  const [first, second] = [1, 2].map(k =>
    drawn
      ? logDirectionMean(lengthDim, k * slope * Math.sqrt(lengthDim) * norm)
      : logLengthMean({k, a, s}, lengthDim),
  ) as [number, number]
  let [sum, rows] = [0, 0]
  const add = (k: 1 | 2, whole: number, [product, length, source]: Row) => {
    const reach = sphere ? k * Math.sqrt(headDim) * norm : k * slope * length * norm
    const along = sphere ? (reach * product) / (length * norm) : k * slope * product
    const dim = drawn ? headDim : lengthDim
    let log = (drawn ? 0 : 2 * k * a * source * source) - whole
    if (!lengths) log = -logDirectionMean(headDim, reach)
    else if (dim !== headDim || length !== source) {
      log += logDirectionMean(dim, k * slope * source * norm) - logDirectionMean(headDim, reach)
    }
    sum += even ? (Math.exp(log + along) + Math.exp(log - along)) / 2 : Math.exp(log + along)
  }
  return {
    /** @param source - c */
    add(product: number, length: number, source: number): void {
      add(1, first, [product, length, source])
      add(2, second, [product, length, source])
      rows++
    },
    /** Of the rows added since the last one. */
    take(): number {
      const weight = 3 / (1 + sum / rows)
      ;[sum, rows] = [0, 0]
      return weight
    },
  }
}

/** w.z, |w| and c. */
type Row = readonly [product: number, length: number, source: number]

/** `ln E e^{2ka c^2} e^{k b c |z| u}` of P normals. */
function logLengthMean({k, a, s}: {k: number; a: number; s: number}, lengthDim: number): number {
  const room = 1 - 4 * k * a
  return (k * k * (1 - 4 * a) * s) / (2 * room) - (lengthDim * Math.log(room)) / 2
}

/** `ln E e^{r u}`, u an entry of a uniform direction in n dimensions. */
export function logDirectionMean(dim: number, reach: number): number {
  return logSphereMean(dim, (reach * reach) / dim)
}
