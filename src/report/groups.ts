/** Values grouped by a key, in the order in which the keys first appear. */
export function groupBy<T>(values: readonly T[], key: (value: T) => string): T[][] {
  const groups = new Map<string, T[]>()
  for (const value of values) {
    const group = groups.get(key(value))
    if (group) group.push(value)
    else groups.set(key(value), [value])
  }
  return [...groups.values()]
}

/** Sorted by first appearance of each key in turn, then by the numbers; the input stays as it is. */
export function inOrder<T>(
  values: readonly T[],
  keys: readonly ((value: T) => string)[],
  numbers: readonly ((value: T) => number)[],
): T[] {
  const ranks = keys.map(key => {
    const seen = [...new Set(values.map(key))]
    return (value: T) => seen.indexOf(key(value))
  })
  return values.toSorted((a, b) => {
    for (const rank of [...ranks, ...numbers]) if (rank(a) !== rank(b)) return rank(a) - rank(b)
    return 0
  })
}
