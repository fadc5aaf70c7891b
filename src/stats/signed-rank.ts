import type {Estimate} from './estimate.js'
import {hodgesLehmann} from './hodges-lehmann.js'
import {MOST_FOR_EXACT, signedRankTails} from './signed-rank-null.js'
import {CONFIDENCE, pValueOf, type TestOptions} from './tests.js'

/** Settings of {@link signedRank}. */
export interface SignedRankOptions extends TestOptions {
  /**
   * What becomes of differences that are 0: `pratt` (default) ranks them with the others and then leaves them out, `wilcox`
   * leaves them out first.
   */
  zeros?: 'pratt' | 'wilcox'
}

export interface SignedRankTest {
  /** Sum of the ranks of positive differences, equal ones with their mean rank. */
  statistic: number
  /** Differences that are not 0. */
  used: number
  /** How the null distribution was found. */
  method: 'exact' | 'normal'
  pValue: number
  /** Hodges-Lehmann estimate of the centre, zeros included, with its distribution-free interval. */
  estimate: Estimate
}

/**
 * Wilcoxon's signed-rank test: do differences lie to one side of 0? The null hypothesis is that they are symmetric about 0;
 * two methods that change places under it have such differences, whatever their errors look like.
 *
 * The p-value is exact up to 50 differences that are not 0, on the condition of their ties and zeros, and normal with
 * corrections for ties and continuity beyond. n differences can give no smaller one-sided p than 2^-n.
 *
 * The null hypothesis does not include skewed differences with median or mean 0: docs/statistics.md has the false
 * alarms.
 *
 * Source: Wilcoxon 1945, "Individual comparisons by ranking methods", Biometrics Bulletin 1, 80-83; zeros: Pratt 1959, JASA
 * 54, 655-667.
 *
 * @param differences - of pairs, independent; infinite ones have the largest ranks
 * @returns a p-value of 1 where all are 0; `NaN` for none, or a `NaN` among them
 * @throws {BAD_OPTION} for a confidence that is not a probability
 */
export function signedRank(
  differences: ArrayLike<number>,
  {alternative = 'two-sided', confidence = CONFIDENCE, zeros = 'pratt'}: SignedRankOptions = {},
): SignedRankTest {
  const estimate = hodgesLehmann(differences, confidence)
  const values = Float64Array.from(differences)
  const used = values.filter(value => value !== 0).length
  const method = used > MOST_FOR_EXACT ? 'normal' : 'exact'
  if (values.length === 0 || values.some(Number.isNaN)) {
    return {statistic: Number.NaN, used, method, pValue: Number.NaN, estimate}
  }
  const {ranks, statistic} = ranked(zeros === 'pratt' ? values : values.filter(x => x !== 0))
  const {above, below} = signedRankTails(ranks, statistic)
  return {statistic, used, method, pValue: pValueOf(alternative, above, below), estimate}
}

/** Mean ranks by absolute value of the differences that are not 0, and the sum of those with a plus. */
function ranked(values: Float64Array) {
  const sorted = values.slice().sort((a, b) => Math.abs(a) - Math.abs(b))
  const ranks: number[] = []
  let statistic = 0
  for (let first = 0, next = 0; first < sorted.length; first = next) {
    const size = Math.abs(sorted[first]!)
    while (next < sorted.length && Math.abs(sorted[next]!) === size) next++
    if (size === 0) continue
    const rank = (first + 1 + next) / 2
    for (let at = first; at < next; at++) {
      ranks.push(rank)
      if (sorted[at]! > 0) statistic += rank
    }
  }
  return {ranks: Float64Array.from(ranks), statistic}
}
