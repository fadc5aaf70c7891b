import {describe, expect, it} from 'vitest'
import {normals, randomStream} from '../../../src/random/index.js'
import {averageRoundingMse, FLOAT32_ROUNDOFF} from '../../../src/theory/rounding.js'

describe('averageRoundingMse', () => {
  it('is n times the squared unit roundoff for values of size one', () => {
    expect(averageRoundingMse([1, -1, 1], 101)).toBe(101 * FLOAT32_ROUNDOFF ** 2)
  })

  it('grows with the square of the values and is zero without any', () => {
    expect(averageRoundingMse([6, 8], 7)).toBe(50 * averageRoundingMse([1, 1], 7))
    expect(averageRoundingMse([0, 0], 7)).toBe(0)
  })

  it('is not exceeded by averages that are added up in float32', () => {
    const terms = 997
    const trials = 101
    let squares = 0
    const all: number[] = []
    for (let trial = 0; trial < trials; trial++) {
      const values = Float32Array.from(normals(randomStream(5, 'test.average', trial), terms))
      const exact = values.reduce((sum, x) => sum + x, 0) / terms
      let rounded = 0
      for (const value of values) rounded = Math.fround(rounded + value)
      squares += (Math.fround(rounded / terms) - exact) ** 2
      all.push(...values)
    }
    expect(squares / trials).toBeGreaterThan(0)
    expect(squares / trials).toBeLessThan(averageRoundingMse(all, terms))
  })
})
