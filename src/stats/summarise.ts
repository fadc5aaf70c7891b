import type {MetricSummary} from '../results/schemas/error-sweep.js'
import {type BootstrapOptions, bootstrapInterval} from './bootstrap.js'
import {mean, median} from './descriptive.js'

/** How a metric is summarised. */
export interface SummariseOptions extends Partial<BootstrapOptions> {
  /**
   * Which end of the metric is bad: replicates without a finite value count as that end. Default
   * `high` (errors); `low` for similarities such as the cosine.
   */
  worst?: 'high' | 'low'
}

/**
 * A metric over replicates, as records hold it.
 *
 * A replicate that is not finite (a broken estimate) is never dropped, which would flatter the
 * method: it makes the mean `null` and enters the median and its interval as the worst value there
 * is. Whatever comes out infinite then is `null` too: a median is `null` from half broken replicates
 * on. One replicate has no interval: `low` and `high` are `null`.
 *
 * @param values - one value per replicate; empty gives all `null`
 * @param options - bootstrap of the median; default seed 0, name `summary`
 */
export function summarise(
  values: ArrayLike<number>,
  {worst = 'high', seed = 0, name = 'summary', ...rest}: SummariseOptions = {},
): MetricSummary {
  const bound = worst === 'high' ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY
  const ranked = Float64Array.from(values, value => (Number.isFinite(value) ? value : bound))
  const interval =
    ranked.length > 1
      ? bootstrapInterval(ranked, median, {seed, name, ...rest})
      : {low: Number.NaN, high: Number.NaN}
  return {
    mean: finiteOrNull(mean(ranked)),
    median: finiteOrNull(median(ranked)),
    low: finiteOrNull(interval.low),
    high: finiteOrNull(interval.high),
  }
}

/** The number, or `null` where files cannot hold it. */
export function finiteOrNull(value: number): number | null {
  return Number.isFinite(value) ? value : null
}
