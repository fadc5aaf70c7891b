import fc from 'fast-check'
import {describe, expect, it} from 'vitest'
import {canonicalJson, cellKey, planHash} from '../../../src/results/keys.js'
import {FULL} from '../../helpers/effort.js'
import {VARIANCE_PLAN, varianceCell} from '../../helpers/records/variance.js'

/** The same data with every object's properties in the opposite order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([name, child]) => [name, reversed(child)] as const)
  return Object.fromEntries(entries.reverse())
}

describe('canonicalJson', () => {
  it('sorts property names at every depth and leaves lists in order', () => {
    expect(canonicalJson({b: [2, {d: 1, c: null}], a: 'x'})).toBe(
      '{"a":"x","b":[2,{"c":null,"d":1}]}',
    )
  })

  it('does not depend on the order of properties, and loses nothing', () => {
    const json = fc.jsonValue({noUnicodeString: false})
    fc.assert(
      fc.property(json, value => {
        expect(canonicalJson(reversed(value))).toBe(canonicalJson(value))
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)))
      }),
      {numRuns: FULL ? 100 : 40},
    )
  })

  it('leaves out what is undefined and writes negative zero as zero', () => {
    expect(canonicalJson({a: undefined, b: -0})).toBe('{"b":0}')
  })

  it.each([Number.NaN, Number.POSITIVE_INFINITY])('refuses %d, naming where it stands', value => {
    const act = () => canonicalJson({outer: {inner: value}})
    expect(act).toThrow(`inner: expected a finite number, got ${value}`)
    expect(act).toThrow(expect.objectContaining({code: 'NOT_FINITE'}))
  })
})

describe('cellKey', () => {
  const key = cellKey('rfa.variance/2', varianceCell())

  it('is 20 hexadecimal digits', () => {
    expect(key).toMatch(/^[0-9a-f]{20}$/)
  })

  it('is the same for the same cell with properties in another order', () => {
    const other = reversed(varianceCell()) as ReturnType<typeof varianceCell>
    expect(cellKey('rfa.variance/2', other)).toBe(key)
  })

  it('differs for another cell and for another schema', () => {
    expect(cellKey('rfa.variance/2', varianceCell({seed: 4}))).not.toBe(key)
    expect(cellKey('rfa.variance/3', varianceCell())).not.toBe(key)
  })
})

describe('planHash', () => {
  it('is equal for equal plans only', () => {
    expect(planHash(structuredClone(VARIANCE_PLAN))).toBe(planHash(VARIANCE_PLAN))
    expect(planHash({...VARIANCE_PLAN, seed: 4})).not.toBe(planHash(VARIANCE_PLAN))
  })
})
