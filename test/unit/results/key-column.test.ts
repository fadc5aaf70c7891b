import {describe, expect, it} from 'vitest'
import {KeyColumn} from '../../../src/results/key-column.js'
import {cellKey} from '../../../src/results/keys.js'

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
