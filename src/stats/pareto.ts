/** What nothing else beats in every respect. */

/**
 * The items that no other one is at least as good as in every number and better in one; less is better. Equal ones stay
 * together.
 *
 * @param numbers - of an item, the same count for each; an item with `NaN` is on no front
 */
export function paretoFront<Item>(
  items: readonly Item[],
  numbers: (item: Item) => readonly number[],
): Item[] {
  const all = items.map(item => ({item, own: numbers(item)}))
  const known = all.filter(({own}) => !own.some(Number.isNaN))
  const front = known.filter(({own}) => !known.some(other => dominates(other.own, own)))
  return front.map(({item}) => item)
}

function dominates(a: readonly number[], b: readonly number[]): boolean {
  return a.every((number, at) => number <= b[at]!) && a.some((number, at) => number < b[at]!)
}
