import {describe, expect, it} from 'vitest'
import {parseRecord} from '../../../src/results/parse-record.js'
import type {AnyRecord} from '../../../src/results/schemas/index.js'
import {runManifest} from '../../../src/results/schemas/manifest.js'
import {
  benchPlan,
  benchRecord,
  errorSweepRecord,
  variancePlan,
  varianceRecord,
} from './support/records.js'

/** The same data without the fields of that name, at any depth. */
function without(names: readonly string[], data: object): object {
  return JSON.parse(JSON.stringify(data, (key, value) => (names.includes(key) ? undefined : value)))
}

describe('what was written before results named instruction set and threads', () => {
  it.each([errorSweepRecord, varianceRecord()])('reads as not known: $schema', record => {
    const {status, result} = record as Extract<AnyRecord, {status: 'completed'}>
    expect(status).toBe('completed')
    const earlier = {...record, result: without(['instruction_set', 'threads'], result)}
    const read = parseRecord(earlier, 'records.jsonl:1') as typeof record & {result: object}
    expect(read.result).toEqual({...result, instruction_set: null, threads: null})
  })
})

describe('what was written before projections had signs and redraws', () => {
  const added = ['orth_sign', 'redraw']

  it('a record reads as one of uniform signs and a single draw', () => {
    const earlier = without(added, benchRecord)
    expect(JSON.stringify(earlier)).not.toContain('redraw')
    expect(parseRecord(earlier, 'records.jsonl:1').cell).toMatchObject({
      orth_sign: 'haar',
      redraw: 'fixed',
    })
  })

  it.each([benchPlan, variancePlan])('a plan reads as the same plan: $experiment', plan => {
    const {plan: schema} = runManifest.shape
    expect(schema.parse(without(added, plan))).toEqual(plan)
  })
})
