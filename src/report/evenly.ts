/** Which of too many things are shown. */

/** At most `most` of a list in its order, evenly spaced, with the first and the last. */
export function evenly<T>(values: readonly T[], most: number): readonly T[] {
  if (values.length <= most) return values
  const step = (values.length - 1) / Math.max(1, most - 1)
  return Array.from({length: most}, (_, at) => values[Math.round(at * step)]!)
}

/**
 * The largest number that every list may show within a total: short lists whole, long ones the same number each.
 *
 * @param lists - how long each is, and what each of its items counts
 * @returns at least one
 */
export function fairShare(
  lists: readonly {length: number; weight?: number}[],
  most: number,
): number {
  const shown = (share: number) =>
    lists.reduce((sum, {length, weight = 1}) => sum + weight * Math.min(length, share), 0)
  let fits = 1
  let beyond = 2 + lists.reduce((longest, {length}) => Math.max(longest, length), 0)
  while (beyond - fits > 1) {
    const middle = Math.floor((fits + beyond) / 2)
    if (shown(middle) <= most) fits = middle
    else beyond = middle
  }
  return fits
}
