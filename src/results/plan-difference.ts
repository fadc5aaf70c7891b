import {canonicalJson} from './keys.js'
import type {Plan} from './record.js'

/** Names that lead to a part of a plan, from the outside in, e.g. `['timing', 'min_runs']`. */
export type Place = readonly string[]

/** The first place where two plans differ. */
export interface Difference {
  place: Place
  /** What stands there; `undefined` where one has no such place. */
  left: unknown
  right: unknown
}

/**
 * Finds the first place where two pieces of JSON data differ, in the order of the left one's
 * properties. Lists are compared item by item, but named as a whole.
 *
 * @returns `undefined` when they are equal
 */
export function firstDifference(
  left: unknown,
  right: unknown,
  place: Place = [],
): Difference | undefined {
  if (Object.is(left, right)) return undefined
  const names = sharedNames(left, right)
  if (!names) return {place, left, right}
  for (const name of names) {
    const inner = [...place, name]
    const difference = firstDifference(childOf(left, name), childOf(right, name), inner)
    if (difference) return Array.isArray(left) ? {place, left, right} : difference
  }
  return undefined
}

/** Names of all children of two objects or two arrays; `undefined` for anything else. */
function sharedNames(left: unknown, right: unknown): Set<string> | undefined {
  if (!isObject(left) || !isObject(right) || Array.isArray(left) !== Array.isArray(right)) {
    return undefined
  }
  return new Set([...Object.keys(left), ...Object.keys(right)])
}

function childOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

/** What one plan is to another. */
export type PlanChange =
  | {kind: 'same'}
  /** Its lists have all values of the other's, in whatever order, perhaps with more. */
  | {kind: 'kept'}
  /** A value of a list is gone. */
  | {kind: 'shortened'; list: string; gone: unknown; right: readonly unknown[]}
  | {kind: 'changed'; difference: Difference}

/** Told before all others: who changed one of them did not mean this run. */
const FIRST = ['experiment', 'seed', 'input']

/** Lists whose absence means that there is nothing in them. */
const OPTIONAL = ['peers']

/** A list, or one value of an axis that the other plan has several of. */
function asList(value: unknown, other: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value
  const single = typeof value === 'number' || typeof value === 'string'
  return single && Array.isArray(other) ? [value] : undefined
}

/** Compares the plan of a run with the one that it is to go on with. What is no list is told first. */
export function planChange(saved: Plan, asked: Plan): PlanChange {
  if (!firstDifference(saved, asked)) return {kind: 'same'}
  const lists: [string, readonly unknown[], readonly unknown[]][] = []
  for (const name of new Set([...FIRST, ...Object.keys({...saved, ...asked})])) {
    const absent = OPTIONAL.includes(name) ? [] : undefined
    const [left, right] = [childOf(saved, name) ?? absent, childOf(asked, name) ?? absent]
    const [before, after] = [asList(left, right), asList(right, left)]
    if (before && after) lists.push([name, before, after])
    else {
      const difference = firstDifference(left, right, [name])
      if (difference) return {kind: 'changed', difference}
    }
  }
  for (const [list, left, right] of lists) {
    const there = new Set(right.map(canonicalJson))
    const gone = left.find(value => !there.has(canonicalJson(value)))
    if (gone !== undefined) return {kind: 'shortened', list, gone, right}
  }
  return {kind: 'kept'}
}
