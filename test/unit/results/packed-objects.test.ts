import fc from 'fast-check'
import {describe, expect, it} from 'vitest'
import {PackedObjects} from '../../../src/results/packed-objects.js'

const json = fc.jsonValue()
const objects = fc.array(fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), json), {maxLength: 12})

describe('PackedObjects', () => {
  it('gives objects back, fields in their order', () => {
    fc.assert(
      fc.property(objects, values => {
        const packed = new PackedObjects()
        for (const value of values) packed.push(value)
        const back = values.map((_, at) => packed.object(at))
        expect(back).toEqual(values)
        expect(JSON.stringify(back)).toBe(JSON.stringify(values))
        values.forEach((value, at) => {
          for (const name of ['a', 'b', 'c', 'd']) {
            expect(packed.field(at, name)).toEqual(value[name])
            expect(packed.has(at, name)).toBe(Object.hasOwn(value, name))
          }
        })
      }),
    )
  })
})
