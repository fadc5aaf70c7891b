import {hash} from 'node:crypto'
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
  const text = canonicalJson({schema, cell, version: packageVersion()})
  return hash('sha256', text).slice(0, KEY_DIGITS)
}

/** The name of a plan, 64 hexadecimal digits: shards of one run carry the same. */
export function planHash(plan: Plan): string {
  return hash('sha256', canonicalJson(plan))
}

/**
 * JSON with sorted property names and no spaces, so that equal data give equal text.
 *
 * Properties that are `undefined` are left out, as `JSON.stringify` does; negative zero is zero.
 *
 * @throws {NOT_FINITE} for numbers that JSON cannot hold
 */
export function canonicalJson(value: unknown): string {
  return textOf(value, 'value') ?? 'null'
}

/** @returns `undefined` for what JSON leaves out */
function textOf(value: unknown, property: string): string | undefined {
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw expected('NOT_FINITE', property, 'a finite number', String(value))
  }
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) {
    return `[${value.map((child, at) => textOf(child, String(at)) ?? 'null').join()}]`
  }
  const object = value as Record<string, unknown>
  let text = ''
  for (const name of sortedNames(object)) {
    const child = textOf(object[name], name)
    if (child !== undefined) text += `${text === '' ? '' : ','}${JSON.stringify(name)}:${child}`
  }
  return `{${text}}`
}

/** By their letters; such as are whole numbers stand first and by size, as in all objects. */
function sortedNames(object: Readonly<Record<string, unknown>>): string[] {
  const names = Object.keys(object).sort()
  if (!names.some(name => name >= '0' && name < ':')) return names
  return Object.keys(Object.fromEntries(names.map(name => [name, null])))
}
