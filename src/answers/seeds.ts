/** For scores of runs over a few seeds: Student's t of differences between runs with the same data, corrected by Holm for all pairs. */
import {studentTest} from '../stats/index.js'
import {rejections} from './answer.js'

/**
 * The best against every other. Which is the best, the tested scores say: any pair may come to be compared, so that all of them are
 * corrected for.
 *
 * @param items - the best first
 * @param differences - of one from another, run by run
 * @returns of all but the first whether it is worse; `null`: too few runs to say
 */
export function worseThanFirst<Item>(
  items: readonly Item[],
  differences: (a: Item, b: Item) => readonly number[],
): (boolean | null)[] {
  // pairs with the best come first
  const pairs = items.flatMap((a, at) =>
    items.slice(at + 1).map(b => studentTest(differences(a, b)).pValue),
  )
  const found = rejections(pairs).slice(0, Math.max(0, items.length - 1))
  return found.map(({p, rejected}) => (Number.isNaN(p) ? null : rejected))
}
