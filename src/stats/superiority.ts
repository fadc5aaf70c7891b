/** How often one thing exceeds another: an effect size that needs no unit and no law. */
import {checkPaired} from './tests.js'

/**
 * Probability that a value of `a` exceeds one of `b`, ties counted as half: 0.5 where neither tends to be larger, 1 where all
 * are. The statistic of Mann and Whitney over the number of pairs.
 *
 * Source: McGraw and Wong 1992, "A common language effect size statistic", Psychological Bulletin 111, 361-365; with ties:
 * Vargha and Delaney 2000, Journal of Educational and Behavioral Statistics 25, 101-132.
 *
 * @param a - independent draws in any order; not changed
 * @param b - independent draws
 * @returns `NaN` without values, and where one is `NaN`
 */
export function superiority(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const sorted = Float64Array.from(b).sort()
  // NaN sorts last
  if (Number.isNaN(sorted.at(-1) ?? Number.NaN)) return Number.NaN
  const wins = Array.from(a, value => {
    if (Number.isNaN(value)) return value
    const below = countWhile(sorted, other => other < value)
    return (below + countWhile(sorted, other => other <= value)) / 2
  })
  return wins.reduce((sum, count) => sum + count, 0) / (wins.length * sorted.length)
}

/**
 * Share of the pairs with a larger first value, ties counted as half. @throws {SHAPE_MISMATCH} for lists of different
 * length
 */
export function pairedSuperiority(a: ArrayLike<number>, b: ArrayLike<number>): number {
  checkPaired('paired superiority', a, b)
  const wins = Array.from(a, (value, at) => (Math.sign(value - b[at]!) + 1) / 2)
  return wins.reduce((sum, win) => sum + win, 0) / wins.length
}

/** How many of the first values hold, where those that do come first: by halving. */
function countWhile(sorted: Float64Array, holds: (value: number) => boolean): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (holds(sorted[middle]!)) low = middle + 1
    else high = middle
  }
  return low
}
