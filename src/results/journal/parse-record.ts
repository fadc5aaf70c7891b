import type {z} from 'zod'
import {describe, expected, type RfaError} from '../../errors.js'
import type {CellRecord, StoredExperiment} from '../record.js'
import {faultsOf} from './faults.js'

/**
 * Checks that a value is a record.
 *
 * @param value - parsed JSON
 * @param where - file and line, for the sentence of an error
 * @param experiments - those with records that this version reads
 * @throws {UNKNOWN_SCHEMA} when its `schema` is missing or none of theirs
 * @throws {BAD_FILE} when it does not fit its schema, saying where
 */
export function parseRecord(
  value: unknown,
  where: string,
  experiments: readonly StoredExperiment[],
): CellRecord {
  const name = schemaOf(value)
  const experiment = experiments.find(({schema}) => schema === name)
  const known = experiments.map(({schema}) => schema)
  if (!experiment) throw unknownSchema(where, name, known)
  return parseWith(experiment.record, value, where, `a record of ${experiment.schema}`)
}

/**
 * Checks that a value fits a schema.
 *
 * @param where - file, and line if any
 * @param what - what it should be, as a noun phrase
 * @param remedies - what to try
 * @throws {BAD_FILE} naming every place that does not fit
 */
export function parseWith<T>(
  schema: z.ZodType<T>,
  value: unknown,
  where: string,
  what: string,
  ...remedies: string[]
): T {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw expected('BAD_FILE', where, what, faultsOf(parsed.error, value), ...remedies)
}

/** Error for data written in a format that this version does not know. */
export function unknownSchema(where: string, name: unknown, known: readonly string[]): RfaError {
  const family = typeof name === 'string' ? name.split('/')[0] : undefined
  const newer = known.some(schema => schema.split('/')[0] === family)
  const got = name === undefined ? 'none' : describe(name)
  const remedy = newer
    ? 'it was written by another version of rfa: use that one'
    : 'it is not a file of rfa'
  return expected('UNKNOWN_SCHEMA', where, `schema ${known.join(' or ')}`, got, remedy)
}

/** The `schema` of parsed JSON, if it is an object that has one. */
export function schemaOf(value: unknown): unknown {
  return typeof value === 'object' && value !== null && 'schema' in value ? value.schema : undefined
}
