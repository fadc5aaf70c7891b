import fc from 'fast-check'
import {describe, expect, it} from 'vitest'
import {KeyColumn} from '../../../src/results/key-column.js'
import {cellKey} from '../../../src/results/keys.js'
import {NumberColumn} from '../../../src/results/number-column.js'
import {PackedObjects} from '../../../src/results/packed-objects.js'
import {PackedValues} from '../../../src/results/packed-values.js'

const json = fc.jsonValue()
const objects = fc.array(fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), json), {maxLength: 12})

describe('NumberColumn', () => {
  it('gives every number back, in stretches of the same and of others', () => {
    const values = Array.from({length: 20_000}, (_, at) =>
      at < 9000 ? -0 : at % 7 === 0 ? 0.1 : at,
    )
    const column = new NumberColumn()
    for (const value of values) column.push(value)
    expect(column.length).toBe(values.length)
    expect(values.every((value, at) => Object.is(column.at(at), value))).toBe(true)
  })
})

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

describe('KeyColumn', () => {
  const keys = Array.from({length: 5000}, (_, at) => cellKey('rfa.bench/1', {at}))

  it('gives keys back and finds where each was kept first', () => {
    const column = new KeyColumn()
    const twice = [...keys, ...keys.slice(0, 100)]
    const kept = twice.map((key, place) => {
      column.push(key)
      return column.keep(place)
    })
    expect(twice.map((_, place) => column.at(place))).toEqual(twice)
    expect(kept).toEqual([...keys.keys(), ...Array.from({length: 100}, (_, at) => at)])
    expect(keys.map(key => column.placeOf(key))).toEqual([...keys.keys()])
    expect(column.placeOf(cellKey('rfa.bench/1', {at: -1}))).toBeUndefined()
  })
})
