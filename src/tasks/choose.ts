/** Choices without repetition. */
import type {RandomStream} from '../random/index.js'

/**
 * Some of the integers from `low` to `high - 1`, each at most once, in random order: every ordered choice is equally likely
 * (the first steps of a Fisher-Yates shuffle).
 */
export function chooseDistinct(
  stream: RandomStream,
  {low, high, count}: {low: number; high: number; count: number},
): number[] {
  const moved = new Map<number, number>()
  return Array.from({length: count}, (_, at) => {
    const place = at + stream.integer(high - low - at)
    const chosen = moved.get(place) ?? place
    moved.set(place, moved.get(at) ?? at)
    return low + chosen
  })
}

/**
 * Some of the places of a list of weights, each at most once, one after the other: every draw takes a place that is left with a
 * probability proportional to its weight.
 *
 * @param weights - positive, `count` of them at least
 */
export function chooseWeighted(
  stream: RandomStream,
  weights: ArrayLike<number>,
  count: number,
): number[] {
  const left = Float64Array.from(weights)
  return Array.from({length: count}, () => {
    let rest = stream.uniform() * left.reduce((sum, weight) => sum + weight, 0)
    let last = -1
    for (let place = 0; place < left.length; place++) {
      const weight = left[place]!
      if (weight === 0) continue
      last = place
      rest -= weight
      if (rest < 0) break
    }
    left[last] = 0
    return last
  })
}
