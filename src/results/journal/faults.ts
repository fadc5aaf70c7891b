/** What is wrong with data that does not fit its schema, in plain words. */
import {z} from 'zod'
import {describe} from '../../errors.js'

/** Most faults in a message. */
const SHOWN = 5

/** What a value should have been, by the parser's word for it. */
const KINDS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
}

/**
 * The faults of a value on one line, e.g. `one in which plan.heads is missing; plan.seed is "7" (expected a number)`.
 *
 * @param value - what was parsed
 */
export function faultsOf(error: z.ZodError, value: unknown): string {
  const faults = error.issues.map(issue => faultOf(issue, valueAt(value, issue.path)))
  const rest = faults.length - SHOWN
  return [
    `one in which ${faults.slice(0, SHOWN).join('; ')}`,
    ...(rest > 0 ? [`and ${rest} more faults`] : []),
  ].join('; ')
}

function faultOf(issue: z.core.$ZodIssue, value: unknown): string {
  const where = issue.path.length > 0 ? z.core.toDotPath(issue.path) : 'the whole'
  if (value === undefined) return `${where} is missing`
  const wanted = wantedBy(issue)
  return `${where} is ${describe(value)}${wanted === undefined ? ', which does not fit' : ` (expected ${wanted})`}`
}

/** What would have been right, where that can be said in a few words. */
function wantedBy(issue: z.core.$ZodIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return KINDS[issue.expected]
    case 'invalid_value':
      return oneOf(issue.values.map(describe))
    case 'too_small':
      return `${issue.inclusive ? 'at least' : 'more than'} ${sized(issue.minimum, issue.origin)}`
    case 'too_big':
      return `${issue.inclusive ? 'at most' : 'less than'} ${sized(issue.maximum, issue.origin)}`
    case 'invalid_format':
      return issue.format === 'datetime' ? 'a date and time in UTC' : undefined
    default:
      return undefined
  }
}

function oneOf(names: readonly string[]): string {
  return names.length > 2 ? `one of ${names.join(', ')}` : names.join(' or ')
}

/** A bound, which may be one of a length. */
function sized(bound: number | bigint, origin: string): string {
  if (!['array', 'set'].includes(origin)) return String(bound)
  return `${bound} ${Number(bound) === 1 ? 'item' : 'items'}`
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, name) =>
      typeof inner === 'object' && inner !== null && Object.hasOwn(inner, name)
        ? (inner as Record<PropertyKey, unknown>)[name]
        : undefined,
    value,
  )
}
