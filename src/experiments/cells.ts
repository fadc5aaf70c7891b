/** How many cells a plan may have, and the values that make them. */
import {expected} from '../errors.js'
import type {Plan} from '../results/record.js'

/** The values of an axis, each once: a plan may be written by hand, and equal cells are one. */
export function distinct<Value>(axis: readonly Value[]): Value[] {
  return [...new Set(axis)]
}

export function distinctMethods<Spec extends object>(methods: readonly Spec[]): Spec[] {
  return [...new Map(methods.map(spec => [JSON.stringify(spec), spec])).values()]
}

/** Cell limit without --force: at a few milliseconds each they take minutes, and hold all their records. */
export const MOST_CELLS = 100_000
/** Cell limit with --force, and of dry runs and reports: all cells are held in memory. */
export const MOST_FORCED = 1_000_000

/**
 * Rejects implausibly large plans, before their cells are made.
 *
 * @param count - of its cells
 * @param most - that are let in
 * @throws {TOO_LARGE} with the count and the lists that make it
 */
export function assertCount(plan: Plan, count: number, most: number): void {
  if (count <= most) return
  const lists = longestLists(plan)
  const made = lists.length === 0 ? '' : ` (longest lists: ${lists.join(', ')})`
  throw expected(
    'TOO_LARGE',
    'plan',
    `at most ${most} cells`,
    `${count}${made}`,
    'take fewer values of the longest lists: a range that multiplies (64..4kx2) has few',
    ...(count <= MOST_FORCED
      ? ['see what they would take with `dryRun`', 'run it all the same with `force`']
      : ['split it into several plans, and run each']),
  )
}

/** Lists of a plan with their lengths, the longest first: `500 scales`. */
function longestLists(plan: Plan): string[] {
  return Object.entries(plan)
    .flatMap(([name, axis]): [string, number][] =>
      Array.isArray(axis) ? [[name, axis.length]] : [],
    )
    .filter(([, length]) => length > 1)
    .sort(([, a], [, b]) => b - a)
    .slice(0, 3)
    .map(([name, length]) => `${length} ${name}`)
}
