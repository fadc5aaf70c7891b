/** What nothing else beats in every respect. */

/**
 * The items that no other one is at least as good as in every number and better in one; less is better. Equal ones stay
 * together.
 *
 * @param numbers - of an item, as many for each; one with `NaN` or without numbers is on no front
 */
export function paretoFront<Item>(
  items: readonly Item[],
  numbers: (item: Item) => readonly number[] | undefined,
): Item[] {
  const known = items.flatMap(item => {
    const own = numbers(item)
    return own && !own.some(Number.isNaN) ? [{item, own}] : []
  })
  const front = known.filter(({own}) => !known.some(other => dominates(other.own, own)))
  return front.map(({item}) => item)
}

function dominates(a: readonly number[], b: readonly number[]): boolean {
  return a.every((number, at) => number <= b[at]!) && a.some((number, at) => number < b[at]!)
}
