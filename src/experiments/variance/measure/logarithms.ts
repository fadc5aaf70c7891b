/** Logarithms of estimates: what can be said of them where means and variances cannot be trusted. */
import {finiteOrNull, mean, quantileOfSorted} from '../../../stats/index.js'
import type {VarianceResult} from '../schema.js'

/** Draws of a row that is not measured: quantiles take few. */
export const LOG_DRAWS = 256

export type LogSummary = NonNullable<VarianceResult['per_projection'][number]['logarithms']>

/**
 * Mean and quantiles of `ln(estimate / expectation)`. Quantiles follow from those of the estimates, as a logarithm
 * is monotone. An estimate that is not positive has none, and then the mean has none either.
 *
 * @param expectation - positive
 */
export function logSummary(estimates: Float64Array, expectation: number): LogSummary {
  const sorted = Float64Array.from(estimates).sort()
  const logOf = (p: number) => finiteOrNull(Math.log(quantileOfSorted(sorted, p) / expectation))
  return {
    draws: estimates.length,
    mean: finiteOrNull(mean(estimates.map(estimate => Math.log(estimate / expectation)))),
    low: logOf(0.05),
    median: logOf(0.5),
    high: logOf(0.95),
  }
}
