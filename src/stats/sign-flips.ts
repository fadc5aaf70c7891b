/** Several paired comparisons at once: adjusted p-values that cost little power where there are many. */
import {expected} from '../errors.js'
import type {RandomStream} from '../random/index.js'

/** Settings of {@link signFlips}. */
export interface SignFlipOptions {
  /** Signs are drawn from it where there are too many to count: the same stream, the same p-values. */
  stream: RandomStream
  /** Centres of at most this size count as zero. Default: 0. */
  margin?: number
  /** Whether centres are beyond the margin on either side (default), or above it. */
  alternative?: 'two-sided' | 'greater'
}

/**
 * Up to `MOST_COUNTED` replicates all signs are counted; beyond, `MOST_DRAWN` are drawn, or fewer if that takes too many
 * products.
 */
const [MOST_COUNTED, MOST_DRAWN, LEAST_DRAWN, MOST_PRODUCTS] = [11, 2000, 500, 2e8]

/** Fewest replicates with a p-value of at most 0.05: `2^(1 - n)` is the smallest two-sided one. */
export const LEAST_FOR_FLIPS = 6

/** What rounding may do to a statistic, a sum of at most some thousand terms of at most 1. */
const ROUNDING = 1e-9

/**
 * Adjusted p-values of several paired comparisons: do the differences of each have a centre beyond the margin? Rejecting those
 * of at most alpha, the chance of any false alarm among all is at most alpha.
 *
 * Under the null hypothesis a replicate could as well have had the opposite differences, all of them together: each
 * choice of a sign for every replicate gives as likely a set of statistics. The p-value of the largest statistic is
 * the share of choices with a largest statistic at least that large; the next p-value is this share among the other
 * comparisons (step-down), and so on. The statistic is `sum d / sqrt(sum d^2)`, which orders as t does. The
 * differences of a comparison must be symmetric about their centre; comparisons may depend on each other in any
 * way. Unlike with Holm, p-values do not grow with the number of comparisons that agree.
 *
 * Source: Westfall and Young 1993, "Resampling-Based Multiple Testing", algorithm 2.8; Romano and Wolf 2005, "Exact and
 * approximate stepdown methods for multiple hypothesis testing", JASA 100, 94-108, section 3.
 *
 * @param differences - of each comparison, by replicate: shorter lists have the first replicates
 * @returns one for each comparison; `NaN` for an empty list, and one with a number that is not finite
 * @throws {BAD_OPTION} for a negative margin
 */
export function signFlips(
  differences: readonly ArrayLike<number>[],
  {stream, margin = 0, alternative = 'two-sided'}: SignFlipOptions,
): number[] {
  if (!(margin >= 0)) {
    throw expected('BAD_OPTION', 'sign flips, `margin`', 'zero or a positive number', `${margin}`)
  }
  const twoSided = alternative === 'two-sided'
  const size = (sum: number) => (twoSided ? Math.abs(sum) : sum)
  const all = differences.map((values, at) => ({at, ...moved(values, margin, twoSided)}))
  const tested = all
    .filter(({statistic}) => !Number.isNaN(statistic))
    .sort((a, b) => a.statistic - b.statistic)
  // one for the signs that there were
  const counts = tested.map(() => 1)
  let choices = 1
  for (const signs of signsFor(tested, {stream, twoSided})) {
    choices++
    let largest = 0
    tested.forEach(({unit, statistic}, place) => {
      largest = Math.max(largest, size(product(unit, signs)))
      if (largest >= statistic - ROUNDING) counts[place]!++
    })
  }
  const adjusted = all.map(() => Number.NaN)
  let least = 0
  for (let place = tested.length - 1; place >= 0; place--) {
    const {statistic, at} = tested[place]!
    least = Math.max(least, statistic > 0 ? counts[place]! / choices : 1)
    adjusted[at] = least
  }
  return adjusted
}

/** A comparison: its differences, moved towards zero by the margin, over their norm. */
interface Moved {
  unit: Float64Array
  /** 0 where the centre is within the margin, or on the other side. */
  statistic: number
}

function moved(values: ArrayLike<number>, margin: number, twoSided: boolean): Moved {
  const all = Float64Array.from(values)
  const mean = all.reduce((sum, value) => sum + value, 0) / all.length
  const side = twoSided && mean < 0 ? -1 : 1
  const beyond = all.map(value => value - side * margin)
  const norm = Math.sqrt(beyond.reduce((sum, value) => sum + value * value, 0))
  if (!Number.isFinite(norm) || all.length === 0) return {unit: beyond, statistic: Number.NaN}
  const unit = norm > 0 ? beyond.map(value => value / norm) : beyond
  const isBeyond = side * mean > margin
  return {unit, statistic: isBeyond ? side * unit.reduce((sum, value) => sum + value, 0) : 0}
}

function product(unit: Float64Array, signs: Int8Array): number {
  let sum = 0
  for (let at = 0; at < unit.length; at++) sum += unit[at]! * signs[at]!
  return sum
}

/**
 * All other choices of signs of few replicates (two-sided tests: up to a change of all signs); a number of random ones
 * of many replicates.
 */
function* signsFor(
  tested: readonly Moved[],
  {stream, twoSided}: {stream: RandomStream; twoSided: boolean},
): Generator<Int8Array> {
  const lengths = tested.map(({unit}) => unit.length)
  const replicates = lengths.reduce((most, length) => Math.max(most, length), 0)
  const signs = new Int8Array(replicates)
  if (replicates <= MOST_COUNTED) {
    const codes = 2 ** (twoSided ? replicates - 1 : replicates)
    for (let code = 1; code < codes; code++) yield signs.map((_, at) => ((code >> at) & 1 ? -1 : 1))
    return
  }
  const products = lengths.reduce((sum, length) => sum + length, 0)
  const count = Math.max(LEAST_DRAWN, Math.min(MOST_DRAWN, Math.floor(MOST_PRODUCTS / products)))
  for (let flip = 0; flip < count; flip++) yield signs.map(() => (stream.uint32() & 1 ? -1 : 1))
}
