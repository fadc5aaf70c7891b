import {mean, median} from './descriptive.js'
import type {Interval} from './estimate.js'

/** Least coverage of {@link medianInterval}. */
const CONFIDENCE = 0.95
/** Fewest values that have one: `2^(1 - n)` falls below 0.05. */
export const LEAST_FOR_INTERVAL = 6

/**
 * Confidence interval of the median that covers it with a probability of at least 0.95, whatever the
 * distribution: the k-th smallest and the k-th largest value, with the largest k that keeps the promise.
 *
 * Each of n independent values falls below the median with probability at most 1/2, so the median lies
 * outside with probability at most `2 P(Bin(n, 1/2) < k)`. Even the whole range (k = 1) misses it with
 * probability `2^(1 - n)`: fewer than {@link LEAST_FOR_INTERVAL} values have no such interval.
 *
 * Source: Thompson 1936, "On confidence ranges for the median"; David and Nagaraja 2003, section 7.1.
 *
 * @param values - independent draws in any order; not changed. Infinities sort to the ends
 * @returns both ends; `NaN` below six values and when a value is `NaN`
 */
export function medianInterval(values: ArrayLike<number>): Interval {
  const sorted = Float64Array.from(values).sort()
  const rank = rankOfEnds(sorted.length)
  if (rank === 0 || Number.isNaN(sorted.at(-1))) return {low: Number.NaN, high: Number.NaN}
  return {low: sorted[rank - 1]!, high: sorted[sorted.length - rank]!}
}

/**
 * {@link medianInterval} of values that were measured one after the other, where a slow one often follows a slow
 * one: n of them tell as much as n / tau independent ones, at least {@link LEAST_FOR_INTERVAL}, whose interval is the
 * whole range. tau is the {@link dependence} of "above the median". docs/statistics.md has its coverage.
 *
 * Source: of the median of a stationary series: Sen 1968, Annals of Mathematical Statistics 39, 1724-1730.
 *
 * @param series - in the order in which they were measured
 * @param turns - how many values each turn took, where they came in turns
 * @returns both ends; `NaN` below six values and when a value is `NaN`
 */
export function seriesMedianInterval(
  series: ArrayLike<number>,
  turns: readonly number[] = [],
): Interval {
  const sorted = Float64Array.from(series).sort()
  const length = sorted.length
  if (length < LEAST_FOR_INTERVAL || Number.isNaN(sorted.at(-1))) return medianInterval(sorted)
  const independent = Math.max(LEAST_FOR_INTERVAL, Math.floor(length / dependence(series, turns)))
  // the place of that rank among all: ranks are taken to lie in the middle of their share
  const rank = Math.floor(((rankOfEnds(independent) - 0.5) * length) / independent + 0.5)
  return {low: sorted[rank - 1]!, high: sorted[length - rank]!}
}

/**
 * tau, how many values of a series tell as much about its median as one independent value: the long-run variance of "above
 * the median" over its variance, at least 1. Values of turns are also summed by turn first, as what disturbs a turn
 * disturbs all of it; the larger tau counts.
 *
 * @param series - in the order in which they were measured
 * @param turns - how many values each turn took, their sum the length of the series
 */
export function dependence(series: ArrayLike<number>, turns: readonly number[] = []): number {
  const middle = median(series)
  const signs = Float64Array.from(series, value => Math.sign(value - middle))
  const center = mean(signs)
  const deviations = signs.map(sign => sign - center)
  const variance = deviations.reduce((sum, x) => sum + x * x, 0)
  if (variance === 0) return 1
  let end = 0
  const sums = Float64Array.from(turns, runs => {
    end += runs
    return deviations.subarray(end - runs, end).reduce((sum, x) => sum + x, 0)
  })
  const found = [deviations, ...(sums.length < LEAST_FOR_INTERVAL ? [] : [sums])]
  return Math.max(1, ...found.map(values => longRunVariance(values) / variance))
}

/**
 * n times the variance of a mean of n values, times n, by Bartlett's weights up to a lag of sqrt(n), over the share of it that
 * is left when the mean itself is that of independent values.
 *
 * Source: Newey and West 1987, Econometrica 55, 703-708.
 *
 * @param deviations - from their mean
 */
function longRunVariance(deviations: Float64Array): number {
  const {length} = deviations
  const covariance = (lag: number) =>
    deviations.reduce((sum, x, at) => sum + x * (deviations[at + lag] ?? 0), 0)
  const lags = Math.floor(Math.sqrt(length))
  let sum = covariance(0)
  let weights = 1
  for (let lag = 1; lag <= lags; lag++) {
    const weight = 2 * (1 - lag / (lags + 1))
    sum += weight * covariance(lag)
    weights += weight * (1 - lag / length)
  }
  return sum / (1 - weights / length)
}

/** The largest k with `2 P(Bin(length, 1/2) < k)` at most the risk allowed; 0 where there is none. */
function rankOfEnds(length: number): number {
  const allowed = (1 - CONFIDENCE) / 2
  // in logarithms: 2^-length is no double for long samples
  let logProbability = -length * Math.LN2 // of exactly k values below the median
  let tail = Math.exp(logProbability) // of at most k
  let k = 0
  while (tail <= allowed) {
    logProbability += Math.log((length - k) / (k + 1))
    tail += Math.exp(logProbability)
    k++
  }
  return k
}
