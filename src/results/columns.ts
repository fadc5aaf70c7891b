import {z} from 'zod'

/** One column of a table of records. */
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
  const columns = new Map<string, Column>()
  for (const column of leavesOf(z.toJSONSchema(schema) as Node)) {
    const omitted = omit.includes(column.path.join('.'))
    if (!omitted && !columns.has(column.name)) columns.set(column.name, column)
  }
  return [...columns.values()]
}

function leavesOf(node: Node, path: readonly string[] = []): Column[] {
  const alternatives = node.anyOf ?? node.oneOf
  if (alternatives?.some(isNested)) return alternatives.flatMap(part => leavesOf(part, path))
  if (node.properties) {
    return Object.entries(node.properties).flatMap(([name, child]) =>
      leavesOf(child, [...path, name]),
    )
  }
  if (node.items && isNested(node.items)) return []
  if (node.type === 'null' && path.length > 0) return []
  const kind = node.items ? 'list' : node.additionalProperties ? 'pairs' : 'plain'
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

/** Whether a node has columns below its own. */
function isNested(node: Node): boolean {
  return node.properties !== undefined || (node.anyOf ?? node.oneOf ?? []).some(isNested)
}

/** A value as its column shows it: numbers stay numbers, all else is text, empty where there is none. */
export function cellValue({path, otherwise, kind}: Column, row: unknown): string | number {
  const value = valueAt(path, row) ?? (otherwise && valueAt(otherwise, row))
  if (value === null || value === undefined) return ''
  if (kind === 'list') return (value as unknown[]).join(';')
  if (kind === 'plain') return typeof value === 'number' ? value : String(value)
  return Object.entries(value)
    .map(([name, item]) => `${name}=${item}`)
    .join(';')
}

function valueAt(path: readonly string[], row: unknown): unknown {
  let value = row
  for (const name of path) value = (value as Record<string, unknown> | null | undefined)?.[name]
  return value
}
