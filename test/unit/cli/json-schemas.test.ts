import {describe, expect, it} from 'vitest'
import {z} from 'zod'
import {jsonSchemas} from '../../../src/cli/json-schemas.js'
import {EXPERIMENT_NAMES} from '../../../src/experiments/index.js'
import {timed} from '../../helpers/records/bench.js'
import {sweep} from '../../helpers/records/error-sweep.js'
import {failed} from '../../helpers/records/outcomes.js'
import {VARIANCE_PLAN, variance} from '../../helpers/records/variance.js'

const schemas = (await jsonSchemas()) as Record<string, z.core.JSONSchema.JSONSchema>

/** What commands print under `--json`. */
const DOCUMENTS = [
  'advice',
  'advice-forecast',
  'apply',
  'check',
  'claim-list',
  'claims',
  'comparison',
  'completion',
  'doctor',
  'dry-run',
  'error',
  'export',
  'fields',
  'figure-facts',
  'figure',
  'finished-run',
  'history',
  'methods',
  'model-advice',
  'projections',
  'report',
  'slurm',
  'version',
]

describe('jsonSchemas', () => {
  it('has a plan and a record per experiment, manifest, summary and what commands print', () => {
    const own = EXPERIMENT_NAMES.flatMap(name => [`${name}-plan`, `${name}-record`])
    expect(Object.keys(schemas).sort()).toEqual(
      [...own, 'report-figures', 'run-manifest', 'run-summary', ...DOCUMENTS]
        .map(name => `${name}.schema.json`)
        .sort(),
    )
  })

  it('has an $id with the version that the data carry', () => {
    const ids = Object.values(schemas).map(({$id}) => $id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids).toContain('rfa/bench-plan')
    expect(ids).toContain(`rfa/bench-record/${timed().schema.split('/')[1]}`)
    expect(ids).toContain('rfa/dry-run/1')
  })

  it.each(Object.entries(schemas))('%s says what each field is', (_, schema) => {
    const fields = fieldsOf(schema)
    expect(fields.length).toBeGreaterThan(1)
    for (const {path, schema: field} of fields) {
      expect(field.description, path.join('.')).toMatch(/^[\S].*\S$/)
    }
  })

  it('says units beside names, where they have one', () => {
    const units = new Map([
      ['_ns', 'ns'],
      ['_bytes', 'bytes'],
      ['_nats', 'nats'],
      ['_pct', '%'],
      ['_deg', 'degrees'],
      ['_gflops', 'GFLOP/s'],
      ['_seconds', 's'],
    ])
    const seen = new Set<string>()
    for (const {path, schema: field} of Object.values(schemas).flatMap(all => fieldsOf(all))) {
      const end = [...units.keys()].find(suffix => path.at(-1)!.endsWith(suffix))
      if (end === undefined) continue
      seen.add(end)
      expect((field as {unit?: string}).unit, path.join('.')).toBe(units.get(end))
    }
    expect(seen.size).toBe(units.size)
  })

  it.each(Object.entries(schemas))('%s names its fields in snake case', (_, schema) => {
    for (const {path} of fieldsOf(schema)) {
      expect(path.at(-1), path.join('.')).toMatch(/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/)
    }
  })

  it.each(Object.entries(schemas))('%s is a titled schema of draft 2020-12', (_, schema) => {
    expect(schema.$schema).toBe('https://json-schema.org/draft/2020-12/schema')
    expect(schema.title).not.toBe('')
    expect(JSON.parse(JSON.stringify(schema))).toEqual(schema)
  })

  it.each([
    ['bench-record', timed()],
    ['error-sweep-record', sweep()],
    ['variance-record', variance()],
    ['bench-record', failed(timed())],
    ['variance-plan', VARIANCE_PLAN],
  ])('%s accepts what the program writes', (name, value) => {
    const schema = z.fromJSONSchema(schemas[`${name}.schema.json`]!)
    expect(schema.safeParse(value).success).toBe(true)
    expect(schema.safeParse({...value, schema: 'other/1', experiment: 'other'}).success).toBe(false)
  })
})

/** A field of a schema. */
interface Field {
  path: string[]
  schema: z.core.JSONSchema.JSONSchema
}

/** All fields at any depth, those of alternatives and of items among them. */
function fieldsOf(schema: z.core.JSONSchema.JSONSchema, path: string[] = []): Field[] {
  const {properties = {}, anyOf = [], oneOf = [], items, additionalProperties, $ref} = schema
  if ($ref !== undefined) throw new Error(`${path.join('.')}: references are not followed here`)
  const below = [...anyOf, ...oneOf, items, additionalProperties].filter(isSchema)
  return [
    ...Object.entries(properties).flatMap(([name, own]) => {
      const field = {path: [...path, name], schema: own as Field['schema']}
      return [field, ...fieldsOf(field.schema, field.path)]
    }),
    ...below.flatMap(own => fieldsOf(own, path)),
  ]
}

function isSchema(value: unknown): value is z.core.JSONSchema.JSONSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
