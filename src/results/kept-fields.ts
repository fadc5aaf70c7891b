/** Which fields of a result are held in memory, and how a result looks whose other fields are in a file. */
import type {z} from 'zod'
import {expected} from '../errors.js'

/** Fields of results that are held of every record; all others are read again where they are asked for. */
export interface KeptFields {
  /** Of a result. */
  schema: z.ZodObject
  /** Names of fields that are no objects, of those within an object as `rel_l2.median`. */
  paths: readonly string[]
}

/** Where fields of results are. */
export interface FieldSource {
  /** A field that is held. */
  field(place: number, path: string): unknown
  /** Whether there is a field of that very name, as of an object that is `null`. */
  has(place: number, path: string): boolean
  /** All fields of a result. */
  whole(place: number): Readonly<Record<string, unknown>>
}

/** Something with one getter for each of its fields. */
type View = new (source: FieldSource, place: number) => object

/** What is held of a result: its kept fields by their paths, and objects that it lacks by their names. */
export type Picker = (result: Readonly<Record<string, unknown>>) => Record<string, unknown>

/** How results are told apart from what is held of them, and told again. */
export function keptResult({schema, paths}: KeptFields): {pick: Picker; view: View} {
  const parts = paths.map(path => path.split('.') as [string, string?])
  const pick: Picker = result => {
    const kept: Record<string, unknown> = {}
    for (let at = 0; at < paths.length; at++) {
      const [name, inner] = parts[at]!
      const value = result[name]
      if (inner === undefined) kept[name] = value
      else if (isObject(value)) kept[paths[at]!] = value[inner]
      else kept[name] = value
    }
    return kept
  }
  return {pick, view: viewOf(schema, parts)}
}

function viewOf(schema: z.ZodObject, parts: readonly (readonly [string, string?])[]): View {
  const names = new Set(parts.map(([name]) => name))
  return classOf(
    Object.entries(schema.shape).map(([name, field]) => {
      const inner = parts.flatMap(([own, part]) => (own === name && part ? [part] : []))
      if (inner.length === 0) {
        if (!names.has(name)) return [name, (source, place) => source.whole(place)[name]]
        return [name, (source, place) => source.field(place, name)]
      }
      const Inner = innerView(name, inner, shapeOf(field as z.ZodType, name))
      return [
        name,
        (source, place) =>
          source.has(place, name) ? source.field(place, name) : new Inner(source, place),
      ]
    }),
    source => source,
  )
}

function innerView(name: string, kept: readonly string[], fields: readonly string[]): View {
  return classOf(
    fields.map(field => {
      const path = `${name}.${field}`
      if (kept.includes(field)) return [field, (source, place) => source.field(place, path)]
      return [field, (source, place) => (source.whole(place)[name] as Fields)[field]]
    }),
    result => (result as Fields)[name],
  )
}

type Fields = Readonly<Record<string, unknown>>

/**
 * A class with getters. What is written as JSON is the whole of it; nothing is its own property, so that it must not be spread.
 *
 * @param partOf - the part of a result that it is
 */
function classOf(
  getters: readonly (readonly [string, (source: FieldSource, place: number) => unknown])[],
  partOf: (result: Fields) => unknown,
): View {
  class Held {
    constructor(
      readonly source: FieldSource,
      readonly place: number,
    ) {}

    toJSON(): unknown {
      return partOf(this.source.whole(this.place))
    }
  }
  for (const [name, read] of getters) {
    Object.defineProperty(Held.prototype, name, {
      get(this: Held) {
        return read(this.source, this.place)
      },
    })
  }
  return Held
}

/** Names of the fields of an object, whatever it is wrapped in. */
function shapeOf(schema: z.ZodType, name: string): string[] {
  let inner = schema as {shape?: object; unwrap?: () => z.ZodType}
  while (!inner.shape && inner.unwrap) inner = inner.unwrap() as typeof inner
  if (inner.shape) return Object.keys(inner.shape)
  throw expected('BAD_OPTION', `kept fields of ${name}`, 'fields of an object', 'none')
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null
}
