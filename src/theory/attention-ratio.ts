/**
 * Bias and variance of one row of attention outputs, a ratio of two sums of kernel estimates, by the delta method.
 *
 * With weights `p_j = SM(x, y_j) / sum`, relative errors d_j of the entries and outputs `O = sum p_j v_j`, the estimate is
 * `sum p_j (1 + d_j) v_j / (1 + sum p_j d_j)`. Up to second order in d, with `C_ij = E d_i d_j`,
 *
 * `variance = sum_ij p_i p_j C_ij (v_i - O)(v_j - O)`, `bias = -sum_ij p_i p_j C_ij (v_j - O)`,
 *
 * the latter being `(R Var(den) - Cov(num, den)) / den^2`. For M i.i.d. rows `M C_ij` is `e^{z_i.z_j} - 1` (positive features,
 * z = x + y) or `cosh(z_i.z_j) - 1` (hyperbolic ones, and trigonometric ones with z = x - y).
 *
 * Source: derived here; delta method: Oehlert 1992, The American Statistician 46, 27-29.
 */
import type {SoftmaxMap} from './crossover.js'
import {dot} from './kernels.js'

/** One query, its keys and their values; canonical. */
export interface AttentionRow {
  /** x `[D]` */
  query: Float64Array
  /** y_j, S of `[D]` */
  keys: readonly Float64Array[]
  /** v_j, S of `[Dv]` */
  values: readonly Float64Array[]
}

/** What M i.i.d. rows make of one row of outputs. */
export interface RatioMoments {
  /** Exact softmax attention, `[Dv]`. */
  output: Float64Array
  /** `[Dv]` */
  bias: Float64Array
  /** `[Dv]` */
  variance: Float64Array
  /** Relative variance of the denominator. The expansion is worth nothing unless it is well below 1. */
  denominatorVariance: number
}

/** Moments of one output row. Takes `S^2 (D + Dv)` operations. @param numFeatures - M, rows */
export function ratioMoments(
  row: AttentionRow,
  map: SoftmaxMap,
  numFeatures: number,
): RatioMoments {
  const weights = softmaxWeights(row)
  const output = weightedMean(weights, row.values)
  const deviations = row.values.map(value => value.map((entry, d) => entry - output[d]!))
  const sign = map === 'trigonometric' ? -1 : 1
  const sums = row.keys.map(key => row.query.map((entry, d) => entry + sign * key[d]!))
  const [bias, variance] = [output.map(() => 0), output.map(() => 0)]
  let denominatorVariance = 0
  for (let i = 0; i < sums.length; i++) {
    let mass = 0 // sum_j p_j C_ij
    const pull = output.map(() => 0) // sum_j p_j C_ij (v_j - O)
    for (let j = 0; j < sums.length; j++) {
      const covariance = (weights[j]! * growth(map, dot(sums[i]!, sums[j]!))) / numFeatures
      mass += covariance
      for (let d = 0; d < pull.length; d++) pull[d]! += covariance * deviations[j]![d]!
    }
    denominatorVariance += weights[i]! * mass
    for (let d = 0; d < pull.length; d++) {
      bias[d]! -= weights[i]! * pull[d]!
      variance[d]! += weights[i]! * deviations[i]![d]! * pull[d]!
    }
  }
  return {output, bias, variance, denominatorVariance}
}

/** M C_ij as a function of z_i.z_j. */
function growth(map: SoftmaxMap, product: number): number {
  return map === 'positive' ? Math.expm1(product) : 2 * Math.sinh(product / 2) ** 2
}

/** p_j, of logits shifted by the largest. */
function softmaxWeights({query, keys}: AttentionRow): Float64Array {
  const logits = Float64Array.from(keys, key => dot(query, key))
  const largest = logits.reduce((most, logit) => Math.max(most, logit), Number.NEGATIVE_INFINITY)
  const weights = logits.map(logit => Math.exp(logit - largest))
  const sum = weights.reduce((total, weight) => total + weight, 0)
  return weights.map(weight => weight / sum)
}

function weightedMean(weights: Float64Array, values: readonly Float64Array[]): Float64Array {
  const mean = new Float64Array(values[0]?.length ?? 0)
  values.forEach((value, j) => {
    value.forEach((entry, d) => {
      mean[d]! += weights[j]! * entry
    })
  })
  return mean
}
