/** The law of the signed-rank statistic when every sign is a coin toss. */
import {normalCdf} from './distributions.js'
import {normalQuantile} from './normal.js'

/** Up to here all 2^n signs are counted: the counts are whole numbers below 2^53, so that the probabilities are exact. */
export const MOST_FOR_EXACT = 50

/** Probabilities under the null hypothesis. */
interface NullTails {
  /** Of the statistic or more. */
  above: number
  /** Of the statistic or less. */
  below: number
}

/**
 * Tails of the sum of the ranks that get a plus, given the ranks: with ties and zeros too, on the condition that they are
 * where they are. Exact up to {@link MOST_FOR_EXACT} ranks; beyond, normal with a correction for continuity of 1/2, its
 * variance (a quarter of the sum of squared ranks) being that for ties.
 *
 * Source: Hollander, Wolfe and Chicken 2014, "Nonparametric Statistical Methods", section 3.1, comments 8 and 10; Pratt
 * 1959, "Remarks on zeros and ties in the Wilcoxon signed rank procedures", JASA 54, 655-667.
 *
 * @param ranks - whole numbers and halves
 */
export function signedRankTails(ranks: Float64Array, statistic: number): NullTails {
  if (ranks.length > MOST_FOR_EXACT) return normalTails(ranks, statistic)
  const counts = sumCounts(ranks)
  const all = 2 ** ranks.length
  let [above, below] = [0, 0]
  counts.forEach((count, twice) => {
    if (twice >= 2 * statistic) above += count
    if (twice <= 2 * statistic) below += count
  })
  return {above: above / all, below: below / all}
}

/** In how many ways signs give each sum, by twice the sum. */
function sumCounts(ranks: Float64Array): Float64Array {
  const twice = ranks.map(rank => 2 * rank)
  const counts = new Float64Array(twice.reduce((sum, rank) => sum + rank, 0) + 1)
  counts[0] = 1
  let largest = 0
  for (const rank of twice) {
    largest += rank
    for (let sum = largest; sum >= rank; sum--) counts[sum]! += counts[sum - rank]!
  }
  return counts
}

function normalTails(ranks: Float64Array, statistic: number): NullTails {
  const {center, error} = nullMoments(ranks)
  return {
    above: normalCdf((center - statistic + 0.5) / error),
    below: normalCdf((statistic - center + 0.5) / error),
  }
}

function nullMoments(ranks: Float64Array) {
  let [sum, squares] = [0, 0]
  for (const rank of ranks) {
    sum += rank
    squares += rank * rank
  }
  return {center: sum / 2, error: Math.sqrt(squares) / 2}
}

/**
 * The largest k with `P(W < k) <= risk` for n untied ranks: the k-th smallest and largest of the n (n + 1) / 2 Walsh
 * averages are the ends of an interval that misses on each side with at most that probability. 0 where there is none.
 */
export function walshRank(length: number, risk: number): number {
  const ranks = Float64Array.from({length}, (_, at) => at + 1)
  if (length > MOST_FOR_EXACT) {
    const {center, error} = nullMoments(ranks)
    return Math.max(0, Math.floor(center + 0.5 + normalQuantile(risk) * error))
  }
  const counts = sumCounts(ranks)
  const allowed = risk * 2 ** length
  let [k, below] = [0, counts[0]!]
  while (below <= allowed) {
    k++
    below += counts[2 * k]!
  }
  return k
}
