import fc from 'fast-check'
import {describe, expect, it} from 'vitest'
import {PackedValues} from '../../../src/results/packed-values.js'

const json = fc.jsonValue()

describe('PackedValues', () => {
  it('gives any value back', () => {
    fc.assert(
      fc.property(fc.array(json, {maxLength: 12}), values => {
        const packed = new PackedValues()
        for (const value of [undefined, ...values]) packed.push(value)
        const back = values.map((_, at) => packed.at(at + 1))
        expect(back).toEqual(values)
        expect(JSON.stringify(back)).toBe(JSON.stringify(values))
        expect(packed.at(0)).toBeUndefined()
      }),
    )
  })
})
