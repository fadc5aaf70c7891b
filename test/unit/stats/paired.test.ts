import {describe, expect, it} from 'vitest'
import {hodgesLehmann, logRatios, pairedRatio} from '../../../src/stats/index.js'

const a = [3, 5, 8, 13, 21, 34, 55]
const b = [1, 4, 9, 11, 17, 30, 40]

describe('pairedRatio', () => {
  it('is that of the logarithms, and turned around its inverse', () => {
    const found = pairedRatio(a, b)
    expect(found.value).toBe(Math.exp(hodgesLehmann(logRatios(a, b)).value))
    // a logarithm and an exponential, rounded once each, of numbers below 4
    expect(Math.abs(pairedRatio(b, a).low * found.high - 1)).toBeLessThan(16 * Number.EPSILON)
  })

  it('refuses lists of different length', () => {
    const act = () => pairedRatio(a, [1])
    expect(act).toThrow(/expected the same number of first and second values, got 7 and 1/)
    expect(act).toThrow(expect.objectContaining({code: 'SHAPE_MISMATCH'}))
  })

  it('of broken values is NaN where they meet, and of NaN', () => {
    const far = Number.POSITIVE_INFINITY
    expect(pairedRatio([1, far], [2, far]).value).toBeNaN()
    expect(pairedRatio([1, Number.NaN], [2, 1]).value).toBeNaN()
  })

  it.each([0, -2])('refuses %d', value => {
    const act = () => pairedRatio([1, 2], [1, value])
    expect(act).toThrow(`paired ratio, b[1]: expected a positive number, got ${value}`)
    expect(act).toThrow(expect.objectContaining({code: 'BAD_OPTION'}))
  })
})
