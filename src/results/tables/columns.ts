import {z} from 'zod'

export interface Column {
  /** The path's parts joined by `_`. */
  name: string
  path: readonly string[]
  /** Where its value stands in rows that have none at `path`. */
  otherwise?: readonly string[]
  /**
   * What a value looks like in the table: a number, text or truth as it is; `list`: items joined by
   * `;`; `pairs`: `name=value` joined by `;`.
   */
  kind: 'plain' | 'list' | 'pairs'
  /** What its values are: `number`, `integer`, `text`, `true | false`, names that it takes, or a list of them. */
  type: string
  /** Of its numbers, where they have one. */
  unit?: string
  /** What it says: the description in the schema. */
  meaning: string
}

/** As much of a JSON Schema as zod makes of plain data. */
interface Node {
  properties?: Record<string, Node>
  anyOf?: Node[]
  oneOf?: Node[]
  items?: Node
  additionalProperties?: Node | boolean
  type?: string | readonly string[]
  enum?: readonly unknown[]
  const?: unknown
  description?: string
  unit?: string
}

/**
 * The leaves of a schema in the order of its definition, so that columns never depend on the data.
 * Objects are flattened, alternatives of a union stand side by side, lists of objects are left out: they have
 * separate tables.
 *
 * @param omit - paths, joined by `.`, that are left out
 */
export function columnsOf(schema: z.ZodType, omit: readonly string[] = []): Column[] {
  const leaves = known.get(schema) ?? leavesOf(z.toJSONSchema(schema) as Node)
  known.set(schema, leaves)
  const columns = new Map<string, Column>()
  for (const column of leaves) {
    const omitted = omit.includes(column.path.join('.'))
    if (!omitted && !columns.has(column.name)) columns.set(column.name, column)
  }
  return [...columns.values()]
}

/** A run asks for the leaves of its result a dozen times, and finding them takes longer than writing its tables. */
const known = new WeakMap<z.ZodType, readonly Column[]>()

function leavesOf(node: Node, path: readonly string[] = []): Column[] {
  const alternatives = alternativesOf(node)
  if (alternatives.some(holdsObjects)) return alternatives.flatMap(part => leavesOf(part, path))
  if (node.properties) {
    return Object.entries(node.properties).flatMap(([name, child]) =>
      leavesOf(child, [...path, name]),
    )
  }
  if (node.items && holdsObjects(node.items)) return []
  if (node.type === 'null' && path.length > 0) return []
  const kind = kindOf(node)
  const {unit, description: meaning = ''} = node
  const type = typeOf(node)
  return [{name: path.join('_'), path, kind, type, ...(unit !== undefined && {unit}), meaning}]
}

/** Longest list of names that stands for a type. */
const MOST_NAMES = 60

/** What tables call a type of JSON, where that is not its name. */
const TYPE_NAMES: Readonly<Record<string, string>> = {boolean: 'true | false', string: 'text'}

/** What values of a leaf are, in a word or a few. */
function typeOf(node: Node): string {
  const {items, additionalProperties, enum: names, anyOf, type} = node
  if (items) return `${typeOf(items)}, joined by ;`
  if (typeof additionalProperties === 'object') return 'name=value, joined by ;'
  if (anyOf) return [...new Set(anyOf.map(typeOf).filter(part => part !== 'null'))].join(' | ')
  const all = names?.join(' | ')
  if (all !== undefined && all.length <= MOST_NAMES) return all
  const [name] = [type ?? 'any'].flat().filter(part => part !== 'null')
  return TYPE_NAMES[name ?? 'null'] ?? name ?? 'null'
}

/** What values of a leaf look like: those of its alternatives, of which one may be null. */
function kindOf(node: Node): Column['kind'] {
  if (node.items) return 'list'
  if (node.additionalProperties) return 'pairs'
  return (
    alternativesOf(node)
      .map(kindOf)
      .find(kind => kind !== 'plain') ?? 'plain'
  )
}

function alternativesOf({anyOf, oneOf}: Node): readonly Node[] {
  return anyOf ?? oneOf ?? []
}

/** Whether a node, one of its alternatives or what it lists has columns of its own. */
function holdsObjects(node: Node): boolean {
  const {properties, items} = node
  const isListed = items !== undefined && holdsObjects(items)
  return properties !== undefined || isListed || alternativesOf(node).some(holdsObjects)
}

/** A value as its column shows it: numbers stay numbers, all else is text, empty where there is none. */
export function cellValue({path, otherwise, kind}: Column, row: unknown): string | number {
  const value = valueAt(path, row) ?? (otherwise && valueAt(otherwise, row))
  if (value === null || value === undefined) return ''
  if (typeof value === 'number') return value
  if (kind === 'list' && Array.isArray(value)) return value.map(textOf).join(';')
  if (kind !== 'pairs') return textOf(value)
  return Object.entries(value)
    .map(([name, item]) => `${name}=${textOf(item)}`)
    .join(';')
}

/** A value in text: what has parts as JSON. */
function textOf(value: unknown): string {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? '')
}

function valueAt(path: readonly string[], row: unknown): unknown {
  let value = row
  for (const name of path) value = (value as Record<string, unknown> | null | undefined)?.[name]
  return value
}
