/**
 * The error of attention with positive features before any is run. With M independent rows, each of weight `rho` (mean 1)
 * and saying `f`, an output is the ratio `sum rho f / sum rho`. From `1 / T^2 = integral of u e^{-u T} du` over u > 0 its
 * mean squared distance from the exact output o is
 *
 * `integral u [M a (1-s)^{M-1} + M (M-1) |b|^2 (1-s)^{M-2}] du`, with `s = E[1 - e^{-u rho}]`,
 * `a = E[rho^2 |f-o|^2 e^{-u rho}]` and `b = E[rho (f-o) e^{-u rho}]`:
 *
 * exactly, at any norms, for every M at once. For large M it becomes the variance of the delta method,
 * `E[rho^2 |f-o|^2] / M`; the second term is the bias from rows with large weights that are too rare to be drawn.
 *
 * Rows are taken as independent; orthogonal ones have a lower error where norms are small. At small M draws are
 * cheaper and more accurate (`simulate.ts`); this continues from them. Signed features (sine and cosine) have no
 * such form: their sums come near zero, where the mean of a ratio does not exist.
 *
 * Source: derived here; the integral: Cressie, Davis, Folks & Policello 1981, The American Statistician 35, 148-150.
 */
import {type RatioSamples, ratioSamples} from './samples.js'
import type {PositiveHead} from './types.js'

/** What a prediction may cost. */
export interface PredictionOptions {
  /** Queries that stand for all. */
  queries: number
  /** Of the random rows. Default 0. */
  seed?: number
}

/**
 * Predicts the mean of |estimate - exact|^2 over one head's outputs for independent rows.
 *
 * @param numFeatures - every M that is asked for, at least 1
 * @returns one for each M; an estimate from {@link PredictionOptions.queries} queries
 */
export function predictError(
  head: PositiveHead,
  numFeatures: readonly number[],
  {queries, seed = 0}: PredictionOptions,
): Float64Array {
  const samples = ratioSamples(head, queries, seed)
  const count = samples.queries.places.length
  const errors = new Float64Array(numFeatures.length)
  for (let i = 0; i < count; i++) {
    const ofQuery = queryErrors(samples, i, numFeatures)
    for (let k = 0; k < errors.length; k++) errors[k]! += ofQuery[k]!
  }
  // differences of independent estimates may come out below zero where there is next to nothing
  return errors.map(error => Math.max(0, error / count))
}

/**
 * Means over draws of M independent rows of |output - exact|^2 of one query, by the trapezoidal rule over ln u.
 *
 * @param query - index of the sampled query
 * @returns one for each M; an estimate, which may come out below zero where there is next to nothing
 */
export function queryErrors(
  samples: RatioSamples,
  query: number,
  numFeatures: readonly number[],
): Float64Array {
  const seen = new Seen(samples, query)
  const errors = new Float64Array(numFeatures.length)
  const [least, most] = [Math.min(...numFeatures), Math.max(...numFeatures)]
  let log = -Math.log(most) - BELOW
  for (;;) {
    const {some, a, b} = seen.at(log)
    const logNone = Math.log1p(-some)
    for (let k = 0; k < errors.length; k++) {
      const M = numFeatures[k]!
      const none = Math.exp((M - 1) * logNone)
      const others = M > 1 ? (M - 1) * b * Math.exp((M - 2) * logNone) : 0
      errors[k]! += STEP * M * (a * none + others)
    }
    const steps = seen.ahead(log, most)
    if ((least - 1) * logNone < LOG_GONE || steps === undefined) return errors
    log += STEP * steps
  }
}

/**
 * Steps of ln u. The integrand in ln u is as smooth as `u^2 e^{-u}`. For that, the sum of steps of 1.25 is within
 * 2.2 % of the integral (`2 |Gamma(2 + 2 pi i / 1.25)|`), and far closer for a sum of many such pieces.
 */
const STEP = 1.25
/** How far below ln(1/M) the integral begins: the integrand, `u^2 M^2` there, is 5e-5. */
const BELOW = 5
/** Logarithm of what no longer counts. */
const LOG_GONE = -20
/** ln(u rho) above which `e^{-u rho}` is nothing, and ln(M u rho) below which a row has no part in the integrand. */
const [PAST, AHEAD] = [4, -7]
/** u rho below which the series of `1 - e^{-u rho}` to its third term is exact to 1e-10. */
const SMALL = 1e-3
/** Shares of a sum that are left out of it, and the least error that differs from none. */
const NEGLIGIBLE = 1e-13

/** What one query sees of the samples. */
class Seen {
  /** ln rho; share of N(0, I); both together, with sum one over each half; that over rho. */
  private readonly logRho: Float64Array
  private readonly share: Float64Array
  private readonly weight: Float64Array
  private readonly scaled: Float64Array
  /** |f - o|^2 */
  private readonly distance: Float64Array
  /** `u weight e^{-u rho}` at the u that is looked at. */
  private readonly factor: Float64Array
  private readonly halves: [Float64Array, Float64Array]
  private readonly dim: number
  private readonly half: number

  constructor(
    private readonly samples: RatioSamples,
    private readonly query: number,
  ) {
    const {count, exact, queries, logShare} = samples
    this.half = count / 2
    this.dim = exact.length / queries.places.length
    this.logRho = samples.logRho.subarray(query * count, (query + 1) * count)
    this.share = logShare.map(Math.exp)
    const logWeight = this.logRho.map((log, row) => log + logShare[row]!)
    const sums = [logWeight.subarray(0, this.half), logWeight.subarray(this.half)].map(normalizeLog)
    this.weight = logWeight.map(Math.exp)
    this.scaled = logShare.map((log, row) => Math.exp(log - sums[row < this.half ? 0 : 1]!))
    this.factor = new Float64Array(count)
    this.halves = [new Float64Array(this.dim), new Float64Array(this.dim)]
    this.distance = this.weight.map((_, row) => this.distanceOf(row))
  }

  private distanceOf(row: number): number {
    const {dim, samples, query} = this
    const {says, exact} = samples
    let sum = 0
    for (let d = 0, at = this.place(row), to = query * dim; d < dim; d++) {
      sum += (says[at + d]! - exact[to + d]!) ** 2
    }
    return sum
  }

  /** Where in `says` a row stands. */
  private place(row: number): number {
    const {samples, dim, query} = this
    const views = samples.says.length / (samples.count * dim)
    return (row * views + samples.queries.viewOf[query]!) * dim
  }

  /** s, u^2 a and u^2 |b|^2 at ln u. */
  at(log: number): {some: number; a: number; b: number} {
    const {logRho, scaled, share, distance, factor, half} = this
    let [some, a, first, second] = [0, 0, 0, 0]
    for (let row = 0; row < factor.length; row++) {
      const reach = log + logRho[row]!
      if (reach >= PAST) {
        some += share[row]!
        factor[row] = 0
        continue
      }
      const x = Math.exp(reach)
      const gone = x < SMALL ? x * (1 - (x / 2) * (1 - x / 3)) : 1 - Math.exp(-x)
      some += gone * share[row]!
      // u weight, as u and the weight may both leave the range of doubles
      const part = x * scaled[row]! * (1 - gone)
      factor[row] = part
      a += part * x * distance[row]!
      if (row < half) first += part
      else second += part
    }
    const b = this.biasSquared([first, second])
    return {some: Math.min(some / 2, 1 - 2 ** -53), a: a / 2, b}
  }

  /**
   * u^2 |b|^2 as the product of two independent estimates of b. As `E[rho (f - o)]` is zero, b is also
   * `E[rho f (e^{-u rho} - c)]` for the mean c of `e^{-u rho}` under the weights, which has far less noise.
   */
  private biasSquared(sums: readonly [number, number]): number {
    const {factor, weight, dim, half, halves} = this
    const {says} = this.samples
    halves.forEach((out, h) => {
      const sum = sums[h]!
      out.fill(0)
      for (let row = h * half; row < (h + 1) * half; row++) {
        const by = factor[row]! - weight[row]! * sum
        if (Math.abs(by) < NEGLIGIBLE * sum) continue
        for (let d = 0, at = this.place(row); d < dim; d++) out[d]! += by * says[at + d]!
      }
    })
    return halves[0].reduce((sum, x, d) => sum + x * halves[1][d]!, 0)
  }

  /** Steps to the next u at which anything changes; `undefined` where every row is past. */
  ahead(log: number, mostFeatures: number): number | undefined {
    let next = Number.NEGATIVE_INFINITY
    for (const own of this.logRho) {
      const reach = log + own
      if (reach < PAST && reach > next) next = reach
    }
    if (next === Number.NEGATIVE_INFINITY) return undefined
    return Math.max(1, Math.floor((AHEAD - Math.log(mostFeatures) - next) / STEP))
  }
}

/** Takes the logarithm of the sum of exponentials off, and gives it. */
function normalizeLog(logs: Float64Array): number {
  const top = logs.reduce((most, log) => Math.max(most, log), Number.NEGATIVE_INFINITY)
  const sum = top + Math.log(logs.reduce((total, log) => total + Math.exp(log - top), 0))
  for (let at = 0; at < logs.length; at++) logs[at]! -= sum
  return sum
}
