import {canonicalJson} from './keys.js'
import type {Plan} from './record.js'

/** The first place where two plans differ. */
export interface Difference {
  /** As one writes it in code, e.g. `num_features[1]` or `timing.min_runs`. */
  path: string
  /** Values there, as JSON; `nothing` where one has no such place. */
  left: string
  right: string
}

/**
 * Finds the first place where two pieces of JSON data differ, in the order of the left one's
 * properties.
 *
 * @returns `undefined` when they are equal
 */
export function firstDifference(left: unknown, right: unknown, path = ''): Difference | undefined {
  if (Object.is(left, right)) return undefined
  const names = sharedNames(left, right)
  if (!names) return {path, left: shown(left), right: shown(right)}
  for (const name of names) {
    const place = Array.isArray(left) ? `${path}[${name}]` : path ? `${path}.${name}` : name
    const difference = firstDifference(childOf(left, name), childOf(right, name), place)
    if (difference) return difference
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

function shown(value: unknown): string {
  return value === undefined ? 'nothing' : JSON.stringify(value)
}

/** What one plan is to another: the same, one with more values in its lists, or a different one. */
export type PlanChange =
  | {kind: 'same'}
  | {kind: 'extended'}
  /** A value of a list is gone. */
  | {kind: 'shortened'; list: string; gone: string; left: string}
  | {kind: 'changed'; difference: Difference}

/** Compares the plan of a run with the one that it is to go on with. */
export function planChange(saved: Plan, asked: Plan): PlanChange {
  if (!firstDifference(saved, asked)) return {kind: 'same'}
  for (const name of Object.keys({...saved, ...asked})) {
    const [left, right] = [childOf(saved, name), childOf(asked, name)]
    if (Array.isArray(left) && Array.isArray(right)) {
      const there = new Set(right.map(canonicalJson))
      const gone = left.find(value => !there.has(canonicalJson(value)))
      if (gone !== undefined) {
        return {kind: 'shortened', list: name, gone: shown(gone), left: shown(right)}
      }
    } else {
      const difference = firstDifference(left, right, name)
      if (difference) return {kind: 'changed', difference}
    }
  }
  return {kind: 'extended'}
}
