import type {Estimate} from './estimate.js'
import {walshRank} from './signed-rank-null.js'
import {CONFIDENCE, checkShare} from './tests.js'

/**
 * Median of the Walsh averages (means of two values, or of one with itself) of a sample, with the interval that turns the
 * signed-rank test around. It estimates the centre of a symmetric distribution, the pseudomedian of any other: of a
 * skewed one that is neither mean nor median.
 *
 * The interval covers with at least the confidence (exact null up to 50 values, normal beyond), for discrete values
 * with tied averages, too. Fewer values than `log2(2 / (1 - confidence))`, six at 0.95, have none: its ends are
 * `NaN`.
 *
 * Source: Hodges and Lehmann 1963, "Estimates of location based on rank tests", Annals of Mathematical Statistics 34,
 * 598-611; Noether 1967, "Wilcoxon confidence intervals for location parameters in the discrete case", JASA 62, 184-188.
 *
 * @param values - independent draws in any order; not changed. Infinities of one sign sort to that end
 * @returns all `NaN` for no values, a `NaN` among them, or infinities of both signs
 * @throws {BAD_OPTION} for a confidence that is not a probability
 */
export function hodgesLehmann(values: ArrayLike<number>, confidence = CONFIDENCE): Estimate {
  checkShare('Hodges-Lehmann', 'confidence', confidence)
  const sorted = Float64Array.from(values).sort()
  const [first = Number.NaN, last = Number.NaN] = [sorted[0], sorted.at(-1)]
  // NaN sorts last, and opposite infinities have no mean
  if (Number.isNaN(first + last)) return {value: Number.NaN, low: Number.NaN, high: Number.NaN}
  const all = pairsOf(sorted)
  const rank = walshRank(sorted.length, (1 - confidence) / 2)
  return {
    value: middleOf(sorted),
    low: rank === 0 ? Number.NaN : smallest(sorted, rank),
    high: rank === 0 ? Number.NaN : smallest(sorted, all + 1 - rank),
  }
}

/** The same without its interval; `NaN` for no values, or a `NaN` among them. */
export function pseudomedian(values: ArrayLike<number>): number {
  const sorted = Float64Array.from(values).sort()
  return Number.isNaN(sorted.at(-1) ?? Number.NaN) ? Number.NaN : middleOf(sorted)
}

/** How many Walsh averages there are. */
function pairsOf({length}: Float64Array): number {
  return (length * (length + 1)) / 2
}

function middleOf(sorted: Float64Array): number {
  const all = pairsOf(sorted)
  const middle = smallest(sorted, Math.floor((all + 1) / 2))
  const next = all % 2 === 1 ? middle : smallest(sorted, all / 2 + 1)
  return middle === next ? middle : (middle + next) / 2
}

/** The k-th smallest Walsh average, by halving: memory stays that of the values. */
function smallest(sorted: Float64Array, k: number): number {
  const finite = sorted.filter(Number.isFinite)
  if (countUpTo(sorted, Number.NEGATIVE_INFINITY) >= k) return Number.NEGATIVE_INFINITY
  let [low, high] = [finite[0]!, finite.at(-1)!]
  if (finite.length === 0 || countUpTo(sorted, high) < k) return Number.POSITIVE_INFINITY
  if (countUpTo(sorted, low) >= k) return low
  for (;;) {
    const middle = (low + high) / 2
    // no double between them: high is the average itself
    if (middle <= low || middle >= high) return high
    if (countUpTo(sorted, middle) >= k) high = middle
    else low = middle
  }
}

/** How many Walsh averages are at most the bound. */
function countUpTo(sorted: Float64Array, bound: number): number {
  let count = 0
  let j = sorted.length - 1
  for (let i = 0; i <= j; i++) {
    while (j >= i && (sorted[i]! + sorted[j]!) / 2 > bound) j--
    count += j - i + 1
  }
  return count
}
