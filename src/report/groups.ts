/** Values of a list in groups, in order, and from where to where they go. */

/** Values grouped by a key, in the order in which the keys first appear. */
export function groupBy<T>(values: readonly T[], key: (value: T) => string): T[][] {
  const groups = new Map<string, T[]>()
  for (const value of values) {
    const name = key(value)
    const group = groups.get(name)
    if (group) group.push(value)
    else groups.set(name, [value])
  }
  return [...groups.values()]
}

/** Sorted by first appearance of each key in turn, then by the numbers; the input stays as it is. */
export function inOrder<T>(
  values: readonly T[],
  keys: readonly ((value: T) => string)[],
  numbers: readonly ((value: T) => number)[],
): T[] {
  const ranks = [
    ...keys.map(key => ranksOf(values.map(key))),
    ...numbers.map(own => values.map(own)),
  ]
  const places = [...values.keys()].sort((a, b) => {
    for (const rank of ranks) if (rank[a] !== rank[b]) return rank[a]! - rank[b]!
    return 0
  })
  return places.map(place => values[place]!)
}

/** Of each name how many others appeared before it. */
function ranksOf(names: readonly string[]): number[] {
  const seen = new Map<string, number>()
  return names.map(name => {
    const rank = seen.get(name) ?? seen.size
    seen.set(name, rank)
    return rank
  })
}

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
