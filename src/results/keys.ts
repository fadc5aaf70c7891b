import {createHash} from 'node:crypto'
import {expected} from '../errors.js'
import {packageVersion} from '../package.js'
import type {Plan} from './record.js'

/** Hex digits of a cell key: 80 bits, so that a million cells collide with probability 4e-13. */
const KEY_DIGITS = 20

/**
 * The name of a cell: equal for equal cells computed by equal code, different otherwise.
 *
 * @param schema - schema of the record, e.g. `rfa.bench/1`
 * @param cell - plain data; the order of its properties does not matter
 * @returns 20 hexadecimal digits
 */
export function cellKey(schema: string, cell: object): string {
  return sha256(canonicalJson({schema, cell, version: packageVersion()})).slice(0, KEY_DIGITS)
}

/** The name of a plan, 64 hexadecimal digits: shards of one run carry the same. */
export function planHash(plan: Plan): string {
  return sha256(canonicalJson(plan))
}

/**
 * JSON with sorted property names and no spaces, so that equal data give equal text.
 *
 * Properties that are `undefined` are left out, as `JSON.stringify` does; negative zero is zero.
 *
 * @throws {NOT_FINITE} for numbers that JSON cannot hold
 */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (property, child: unknown) => {
    if (typeof child === 'number' && !Number.isFinite(child)) {
      throw expected('NOT_FINITE', property || 'value', 'a finite number', String(child))
    }
    return isPlainObject(child) ? sorted(child) : child
  })
}

function sorted(object: Record<string, unknown>): Record<string, unknown> {
  const byName = ([a]: [string, unknown], [b]: [string, unknown]) => (a < b ? -1 : 1)
  return Object.fromEntries(Object.entries(object).sort(byName))
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
