import {mean, median} from './descriptive.js'
import {medianInterval} from './median-interval.js'

/** A metric over replicates. */
export interface MetricSummary {
  mean: number | null
  median: number | null
  /** Interval that covers the median with at least 95 %; `null` below six replicates, which allow none. */
  low: number | null
  high: number | null
  /** Smallest and largest value of a replicate. */
  min: number | null
  max: number | null
}

/** How a metric is summarised. */
export interface SummariseOptions {
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
 * method: it makes the mean `null` and enters the median, its interval and the range as the worst
 * value there is. Whatever comes out infinite then is `null` too: a median is `null` from half broken
 * replicates on. Below six replicates there is no interval (see `medianInterval`): `low` and `high`
 * are `null`, and the range is all that can be said of the spread.
 *
 * @param values - one value per replicate; empty gives all `null`
 */
export function summarise(
  values: ArrayLike<number>,
  {worst = 'high'}: SummariseOptions = {},
): MetricSummary {
  const bound = worst === 'high' ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY
  const ranked = Float64Array.from(values, value => (Number.isFinite(value) ? value : bound)).sort()
  const interval = medianInterval(ranked)
  return {
    mean: finiteOrNull(mean(ranked)),
    median: finiteOrNull(median(ranked)),
    low: finiteOrNull(interval.low),
    high: finiteOrNull(interval.high),
    min: finiteOrNull(ranked[0]),
    max: finiteOrNull(ranked.at(-1)),
  }
}

/** The number, or `null` where files cannot hold it. */
export function finiteOrNull(value: number | null = Number.NaN): number | null {
  return Number.isFinite(value) ? value : null
}
