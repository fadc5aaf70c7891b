import {describe, expect, it} from 'vitest'
import {logLogSlope} from '../../../src/stats/index.js'

const lengths = [101, 211, 401, 809, 1601]
/**
 * Rounding of a slope: each logarithm (below 32) is off by half a unit in its last place, the fitted
 * slope is a weighted sum of n of them with weights below 1 for a range of a factor 16.
 */
const slopeBound = lengths.length * 32 * Number.EPSILON

describe('logLogSlope', () => {
  it.each([-0.5, 1, 1.5, 2])('recovers the exponent %d of a power law', exponent => {
    const fit = logLogSlope(
      lengths,
      lengths.map(x => 3 * x ** exponent),
    )
    expect(Math.abs(fit.slope - exponent)).toBeLessThan(slopeBound)
    // the intercept is the slope's error times the mean of log x, below 8, and that of one logarithm
    expect(Math.abs(fit.intercept - Math.log(3))).toBeLessThan(10 * slopeBound)
    expect(Math.abs(fit.r2 - 1)).toBeLessThan(10 * slopeBound)
  })

  it('is the least-squares line of noisy points', () => {
    // logs: x = 0, 1, 2; y = 0, 2, 1: slope 1/2, intercept 1/2, r2 = 1/4
    const e = Math.E
    const fit = logLogSlope([1, e, e * e], [1, e * e, e])
    for (const [got, want] of [
      [fit.slope, 0.5],
      [fit.intercept, 0.5],
      [fit.r2, 0.25],
    ] as const) {
      expect(Math.abs(got - want)).toBeLessThan(slopeBound)
    }
  })

  it('of a constant is flat and fits perfectly', () => {
    expect(logLogSlope([3, 5, 7], [2, 2, 2])).toEqual({slope: 0, intercept: Math.log(2), r2: 1})
  })

  it.each([
    ['zero', [1, 2], [0, 1], /y\[0\]: expected a positive number, got 0/],
    ['a negative x', [1, -2], [1, 1], /x\[1\]: expected a positive number, got -2/],
    ['NaN', [1, 2], [1, Number.NaN], /y\[1\]: expected a positive number, got NaN/],
    ['infinity', [1, 2], [1, Number.POSITIVE_INFINITY], /got Infinity/],
    ['one x', [2, 2], [1, 3], /at least two different values of x, got only one \(2\)/],
    ['no points', [], [], /at least two different values of x, got none/],
  ])('refuses %s', (_, x, y, message) => {
    expect(() => logLogSlope(x, y)).toThrow(message)
    expect(() => logLogSlope(x, y)).toThrow(expect.objectContaining({code: 'BAD_OPTION'}))
  })

  it('refuses lists of different length', () => {
    const act = () => logLogSlope([1, 2, 3], [1, 2])
    expect(act).toThrow(/x and y of equal length, got 3 and 2/)
    expect(act).toThrow(expect.objectContaining({code: 'SHAPE_MISMATCH'}))
  })
})
