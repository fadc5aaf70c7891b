/**
 * The error of attention with positive features before any is run. With M independent rows, each of weight `rho` (mean 1)
 * and saying `f`, an output is the ratio `sum rho f / sum rho`. From `1 / T^2 = integral of u e^{-u T} du` over u > 0 its
 * mean squared distance from the exact output o is
 *
 * `integral u [M a (1-s)^{M-1} + M (M-1) |b|^2 (1-s)^{M-2}] du`, with `s = E[1 - e^{-u rho}]`,
 * `a = E[rho^2 |f-o|^2 e^{-u rho}]` and `b = E[rho (f-o) e^{-u rho}]`:
 *
 * exactly, at any norms, for every M at once. For large M it becomes the variance of the delta method,
 * `E[rho^2 |f-o|^2] / M`; the second term is the bias of rows whose weight is too rare to be seen.
 *
 * Source: derived here; the integral: Cressie, Davis, Folks & Policello 1981, The American Statistician 35, 148-150.
 */
import {type RatioSamples, ratioSamples} from './samples.js'
import type {PositiveHead} from './types.js'

/** Means over the queries of one head. */
export interface PredictedSquares {
  /** |estimate - exact|^2 of an output at each M. */
  errors: Float64Array
  /** |exact|^2, over the same queries. */
  exact: number
}

/** What a prediction may cost. */
export interface PredictionOptions {
  /** Queries that stand for all. */
  queries: number
  /** Of the random rows. Default 0. */
  seed?: number
}

/**
 * Predicts the mean squared error of one head's outputs for independent rows.
 *
 * @param numFeatures - every M that is asked for, at least 1
 * @returns see {@link PredictedSquares}; an estimate from {@link PredictionOptions.queries} queries
 */
export function predictError(
  head: PositiveHead,
  numFeatures: readonly number[],
  {queries, seed = 0}: PredictionOptions,
): PredictedSquares {
  const samples = ratioSamples(head, queries, seed)
  const count = samples.queries.places.length
  const errors = new Float64Array(numFeatures.length)
  let exact = 0
  for (let i = 0; i < count; i++) {
    addErrors(errors, new Seen(samples, i, head.valueDim), numFeatures)
    const own = samples.exact.subarray(i * head.valueDim, (i + 1) * head.valueDim)
    exact += own.reduce((sum, x) => sum + x * x, 0)
  }
  // differences of independent estimates may come out below zero where there is next to nothing
  return {errors: errors.map(error => Math.max(0, error / count)), exact: exact / count}
}

/**
 * Steps of ln u. The integrand in ln u is as smooth as `u^2 e^{-u}`, for which the sum of steps of 1.25 is within 2 % of
 * the integral, and of many such pieces far closer.
 */
const STEP = 1.25
/** Steps below ln(1/M) that are taken: the integrand has fallen by e^-10 there. */
const BELOW = 5

/** Adds the integral for one query, by the trapezoidal rule over ln u. */
function addErrors(errors: Float64Array, seen: Seen, numFeatures: readonly number[]): void {
  const [least, most] = [Math.min(...numFeatures), Math.max(...numFeatures)]
  for (let log = -Math.log(most) - BELOW; ; log += STEP) {
    const {some, a, b} = seen.at(log)
    const logNone = Math.log1p(-some)
    for (let k = 0; k < errors.length; k++) {
      const M = numFeatures[k]!
      const none = Math.exp((M - 1) * logNone)
      const others = M > 1 ? (M - 1) * b * Math.exp((M - 2) * logNone) : 0
      errors[k]! += STEP * M * (a * none + others)
    }
    if ((least - 1) * logNone < LOG_GONE || seen.gone(log)) return
  }
}

/** Logarithm of what no longer counts. */
const LOG_GONE = -30
/** Shares of a sum that are left out of it. */
const NEGLIGIBLE = 1e-7

/** What one query sees of the samples. */
class Seen {
  /** ln rho, and rho times the share of N(0, I), whose sum over each half is one. */
  private readonly logRho: Float64Array
  private readonly weight: Float64Array
  private readonly distance: Float64Array
  private readonly leastLog: number
  private readonly view: number
  private readonly views: number
  private readonly factor: Float64Array
  private readonly mean: [Float64Array, Float64Array]

  constructor(
    private readonly samples: RatioSamples,
    private readonly query: number,
    private readonly dim: number,
  ) {
    const {count, queries, says} = samples
    this.view = queries.viewOf[query]!
    this.views = says.length / (count * dim)
    this.logRho = samples.logRho.subarray(query * count, (query + 1) * count)
    this.leastLog = this.logRho.reduce((least, log) => Math.min(least, log), Infinity)
    this.factor = new Float64Array(count)
    this.mean = [new Float64Array(dim), new Float64Array(dim)]
    this.weight = this.weights()
    this.distance = this.distances()
  }

  private weights(): Float64Array {
    const weight = this.logRho.map((log, row) => this.samples.share[row]! * Math.exp(log))
    const half = weight.length / 2
    for (const own of [weight.subarray(0, half), weight.subarray(half)]) {
      const sum = own.reduce((total, x) => total + x, 0)
      own.forEach((x, row) => {
        own[row] = x / sum
      })
    }
    return weight
  }

  /** |f - o|^2 of every row. */
  private distances(): Float64Array {
    const {dim, samples, query} = this
    const {says, exact} = samples
    return this.weight.map((_, row) => {
      let sum = 0
      for (let d = 0, at = this.place(row), to = query * dim; d < dim; d++) {
        sum += (says[at + d]! - exact[to + d]!) ** 2
      }
      return sum
    })
  }

  private place(row: number): number {
    return (row * this.views + this.view) * this.dim
  }

  /** All rows have so much weight that none is without, at this u. */
  gone(log: number): boolean {
    return Math.exp(log + this.leastLog) > -LOG_GONE
  }

  /** s, u^2 a and u^2 |b|^2 at ln u, the last from two independent halves. */
  at(log: number): {some: number; a: number; b: number} {
    const {logRho, weight, distance, factor} = this
    const {count, share} = this.samples
    const sums = [0, 0]
    let [some, a] = [0, 0]
    for (let row = 0; row < count; row++) {
      const x = Math.exp(log + logRho[row]!)
      const none = Math.exp(-x)
      some += (x < 1e-3 ? -Math.expm1(-x) : 1 - none) * share[row]!
      factor[row] = weight[row]! * none
      a += factor[row]! * x * distance[row]!
      sums[row < count / 2 ? 0 : 1]! += factor[row]!
    }
    const u = Math.exp(log)
    return {
      some: Math.min(some / 2, 1 - 2 ** -53),
      a: (u * a) / 2,
      b: u * u * this.biasSquared(sums),
    }
  }

  /** b of both halves multiplied: `E[rho (f-o) (e^{-u rho} - c)]` for any c, as `E[rho (f-o)]` is zero; with the c of least noise. */
  private biasSquared(sums: readonly number[]): number {
    const {factor, weight, dim} = this
    const {says, count} = this.samples
    const half = count / 2
    for (let h = 0; h < 2; h++) {
      const [out, sum] = [this.mean[h]!, sums[h]!]
      out.fill(0)
      for (let row = h * half; row < (h + 1) * half; row++) {
        const by = factor[row]! - weight[row]! * sum
        if (Math.abs(by) < NEGLIGIBLE * sum) continue
        for (let d = 0, at = this.place(row); d < dim; d++) out[d]! += by * says[at + d]!
      }
    }
    return dotAt2(this.mean)
  }
}

function dotAt2([x, y]: readonly [Float64Array, Float64Array]): number {
  let sum = 0
  for (let d = 0; d < x.length; d++) sum += x[d]! * y[d]!
  return sum
}
