/** Intervals of variances and of their ratios from fourth moments: a sample's own spread says little of its tail. */
import {mean, variance} from './descriptive.js'
import type {Interval} from './estimate.js'
import {Z95} from './normal.js'

/**
 * The interval `s^2 exp(-+1.96 e)` of a variance, from an estimate s^2 with the relative standard error e: normal
 * on the logarithmic scale, where a sample variance is less skewed and never negative.
 */
export function logInterval(estimate: number, relativeStandardError: number): Interval {
  const factor = Math.exp(Z95 * relativeStandardError)
  return {low: estimate / factor, high: estimate * factor}
}

/** Excess kurtosis of a sample, `m4 / m2^2 - 3`; `NaN` where nothing varies. */
export function sampleKurtosis(values: ArrayLike<number>): number {
  const squares = squaredDeviations(values)
  const second = mean(squares)
  return mean(squares.map(square => square * square)) / second ** 2 - 3
}

/**
 * Correlation of the squared deviations of paired values: how much of the error of two sample variances is
 * one error. `NaN` where one of them does not vary.
 */
export function squaresCorrelation(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const [first, second] = [squaredDeviations(a), squaredDeviations(b)]
  const [firstMean, secondMean] = [mean(first), mean(second)]
  const products = first.map((square, at) => (square - firstMean) * (second[at]! - secondMean))
  const covariance = mean(products) * (first.length / (first.length - 1))
  return covariance / Math.sqrt(variance(first) * variance(second))
}

/**
 * Relative standard error of a ratio of two sample variances of paired values.
 *
 * @param correlation - of their squared deviations
 */
export function ratioStandardError(a: number, b: number, correlation: number): number {
  return Math.sqrt(Math.max(0, a * a + b * b - 2 * correlation * a * b))
}

function squaredDeviations(values: ArrayLike<number>): Float64Array {
  const center = mean(values)
  return Float64Array.from(values, value => (value - center) ** 2)
}
