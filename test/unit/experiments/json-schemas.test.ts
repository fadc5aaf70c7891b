import {describe, expect, it} from 'vitest'
import {z} from 'zod'
import {EXPERIMENT_NAMES} from '../../../src/experiments/index.js'
import {jsonSchemas} from '../../../src/experiments/json-schemas.js'
import {timed} from '../../helpers/records/bench.js'
import {sweep} from '../../helpers/records/error-sweep.js'
import {failed} from '../../helpers/records/outcomes.js'
import {VARIANCE_PLAN, variance} from '../../helpers/records/variance.js'

const schemas = (await jsonSchemas()) as Record<string, z.core.JSONSchema.JSONSchema>

describe('jsonSchemas', () => {
  it('has a plan and a record per experiment, the manifest and the summary', () => {
    const own = EXPERIMENT_NAMES.flatMap(name => [`${name}-plan`, `${name}-record`])
    expect(Object.keys(schemas).sort()).toEqual(
      [...own, 'run-manifest', 'run-summary'].map(name => `${name}.schema.json`).sort(),
    )
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
