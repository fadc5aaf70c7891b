/**
 * The smallest and the largest of any number of values: a call with all of them as arguments, as of `Math.min`, fails beyond some
 * hundred thousand.
 *
 * @returns infinities, the wrong way round, where there are none
 */
export function spanOf(values: Iterable<number>): [low: number, high: number] {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const value of values) {
    low = Math.min(low, value)
    high = Math.max(high, value)
  }
  return [low, high]
}
