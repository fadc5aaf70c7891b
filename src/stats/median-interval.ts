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

/** The largest k with `2 P(Bin(length, 1/2) < k)` at most the risk allowed; 0 where there is none. */
function rankOfEnds(length: number): number {
  const allowed = (1 - CONFIDENCE) / 2
  // in logarithms: 2^-length underflows for long samples
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
