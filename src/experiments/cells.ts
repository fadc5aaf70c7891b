/** The cells of a plan, counted before they are made, and made when they are asked for. */
import {expected} from '../errors.js'
import type {Plan} from '../results/record.js'

/** A list that is not held in memory: each walk makes its items anew. Arrays are such lists, too. */
export interface Cells<Item> extends Iterable<Item> {
  /** How many there are; known without making any. */
  readonly length: number
}

/** A list from its length and the walk that makes its items. */
export function cellsFrom<Item>(length: number, walk: () => Iterator<Item>): Cells<Item> {
  return {length, [Symbol.iterator]: walk}
}

/** The values of an axis, each once: a plan may be written by hand, and equal cells are one. */
export function distinct<Value>(axis: readonly Value[]): Value[] {
  return [...new Set(axis)]
}

/** The methods of a plan, each once. */
export function distinctMethods<Spec extends object>(methods: readonly Spec[]): Spec[] {
  return [...new Map(methods.map(spec => [JSON.stringify(spec), spec])).values()]
}

/** Cell limit without --force: at a few milliseconds each they take minutes, and hold all their records. */
export const MOST_CELLS = 100_000
/** Most cells that are walked to say what they would take. */
export const MOST_WALKED = 20_000_000

/**
 * Rejects implausibly large plans.
 *
 * @param count - of its cells
 * @param most - that are let in
 * @throws {TOO_LARGE} with the count and the lists that make it
 */
export function assertCount(plan: Plan, count: number, most: number = MOST_CELLS): void {
  if (count <= most) return
  const lists = longestLists(plan)
  const made = lists.length === 0 ? '' : ` (longest lists: ${lists.join(', ')})`
  throw expected(
    'TOO_LARGE',
    'plan',
    `at most ${most} cells`,
    `${count}${made}`,
    'take fewer values of the longest lists: a range that multiplies (64..4kx2) has few',
    ...(most < MOST_WALKED ? ['see what they would take with `dryRun`'] : []),
    'go on all the same with `force`',
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
