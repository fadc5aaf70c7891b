import {describe, expect, it} from 'vitest'
import {NumberColumn} from '../../../src/results/number-column.js'

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
