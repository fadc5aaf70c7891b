/**
 * Rows of normals by importance sampling. An estimate of exp(x.y) at norms above 1 has most of its mean in rows near x + y,
 * which plain draws hardly ever see. Here half of the draws have one row, any of the M, moved by a tilt t of share a_t:
 * `q(W) = p(W) (1/2 + sum_t a_t 1/M sum_i exp(t.w_i - |t|^2/2))`, and `p/q` weights each draw. It is at most 2, and a mean
 * over rows of exp(t.w) times it at most 1/a_t of its expectation. It holds for any function of independent rows.
 *
 * Source: Owen and Zhou 2000, "Safe and effective importance sampling", JASA 95, 135-143 (defensive mixtures).
 */
import type {RandomStream} from '../../random/index.js'

/** Sizes of the rows: one matrix `[M, D]` for each draw. */
interface RowShape {
  draws: number
  numFeatures: number
  headDim: number
}

/** A vector that rows are moved by, in a share of the draws. */
export interface Tilt {
  vector: Float64Array
  share: number
}

/** Draws that no row is moved in. */
const PLAIN_SHARE = 0.5

/**
 * Moves rows of standard normals in place.
 *
 * @param rows - `[draws, M, D]`
 * @param tilts - with shares that sum to a half, or none
 * @returns the weight p/q of each draw; all are 1 without tilts
 */
export function tiltRows(
  rows: Float32Array,
  {draws, numFeatures, headDim}: RowShape,
  tilts: readonly Tilt[],
  stream: RandomStream,
): Float64Array {
  const weights = new Float64Array(draws).fill(1)
  if (tilts.length === 0) return weights
  const size = numFeatures * headDim
  return weights.map((_, draw) => {
    const own = rows.subarray(draw * size, (draw + 1) * size)
    const tilt = chosen(tilts, stream.uniform())
    const row = Math.floor(numFeatures * stream.uniform()) * headDim
    tilt?.vector.forEach((each, d) => {
      own[row + d]! += each
    })
    const ratios = tilts.map(({vector, share}) => share * meanRatio(own, headDim, vector))
    return 1 / (PLAIN_SHARE + ratios.reduce((sum, each) => sum + each, 0))
  })
}

/** The tilt that a uniform number falls to, or none. */
function chosen(tilts: readonly Tilt[], uniform: number): Tilt | undefined {
  let below = 0
  return tilts.find(({share}) => {
    below += share
    return uniform < below
  })
}

/** Mean over the rows of `exp(t.w - |t|^2/2)`. */
function meanRatio(rows: Float32Array, headDim: number, tilt: Float64Array): number {
  const half = tilt.reduce((total, each) => total + each * each, 0) / 2
  let sum = 0
  for (let row = 0; row < rows.length; row += headDim) {
    let product = 0
    for (let d = 0; d < headDim; d++) product += tilt[d]! * rows[row + d]!
    sum += Math.exp(product - half)
  }
  return sum / (rows.length / headDim)
}

/** Of tilts towards x + y: products of exponential features have their mass there, those of hyperbolic ones on both sides. */
const FORWARD = 0.75

/** Multiples of x + y, for each pair of a query and a key, and their opposites. */
export function tiltsOf(
  pairs: readonly (readonly [Float64Array, Float64Array])[],
  factors: readonly number[],
): Tilt[] {
  const share = (1 - PLAIN_SHARE) / (pairs.length * factors.length)
  return pairs.flatMap(([x, y]) =>
    factors.flatMap(factor => [
      {vector: x.map((each, d) => factor * (each + y[d]!)), share: FORWARD * share},
      {vector: x.map((each, d) => -factor * (each + y[d]!)), share: (1 - FORWARD) * share},
    ]),
  )
}
