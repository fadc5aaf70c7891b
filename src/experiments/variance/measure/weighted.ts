/** What draws of several laws, each with a weight, say about bias and variance. */
import {TILTS} from '../../../attention/internal.js'
import {mean, variance} from '../../../stats/index.js'
import {FLOAT32_ROUNDOFF} from '../../../theory/rounding.js'
import type {WeightedEstimates} from './estimates.js'

/** Moments of a projection's estimates. */
export interface WeightedMoments {
  mean: number
  /** Standard error of the mean. */
  meanError: number
  variance: number
  /** Relative standard error of the variance. */
  error: number
  /** What float32 leaves of that: squares of sums of F terms. */
  rounding: number
  /** Mean of squared deviations from the expectation. */
  meanSquare: number
  /** Of each draw: what it adds to the variance, over the variance. */
  shares: Float64Array
}

/**
 * Moments of estimates with laws that take turns. A mean over the mixture is the mean of the means by law, and so is its
 * squared standard error, as the number of draws of each law is fixed.
 *
 * Weights have the mean 1, so that deviations from the weighted mean, not estimates, are averaged: rows may be biased.
 *
 * @param expected - what the estimates are expected to be
 * @param featureDim - F: sums of F terms are rounded
 */
export function weightedMoments(
  {estimates, weights}: WeightedEstimates,
  expected: number,
  featureDim: number,
): WeightedMoments {
  const rounding = 2 * featureDim * FLOAT32_ROUNDOFF
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  const pilot = estimates.reduce((sum, estimate, at) => sum + weights[at]! * estimate, 0) / total
  const off = stratified(estimates.map((estimate, at) => weights[at]! * (estimate - pilot)))
  const center = pilot + off.mean
  const squares = estimates.map((estimate, at) => weights[at]! * (estimate - center) ** 2)
  const spread = stratified(squares)
  return {
    mean: center,
    meanError: off.error,
    variance: spread.mean,
    error: Math.hypot(spread.error / spread.mean, rounding),
    rounding,
    meanSquare: spread.mean + (center - expected) ** 2,
    shares: squares.map(square => square / spread.mean),
  }
}

/** Standard error of the logarithm of the ratio of two variances with paired draws. */
export function pairedError(a: WeightedMoments, b: WeightedMoments): number {
  const {error} = stratified(a.shares.map((share, at) => share - b.shares[at]!))
  return Math.hypot(error, a.rounding, b.rounding)
}

/** Mean over the mixture and its standard error; draw i has law i modulo {@link TILTS}. */
function stratified(values: Float64Array): {mean: number; error: number} {
  const laws = Array.from({length: TILTS}, (_, law) => values.filter((_, at) => at % TILTS === law))
  const squares = laws.reduce((sum, own) => sum + variance(own) / own.length, 0)
  return {mean: mean(laws.map(own => mean(own))), error: Math.sqrt(squares) / TILTS}
}
