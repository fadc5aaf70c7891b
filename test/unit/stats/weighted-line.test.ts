import {describe, expect, it} from 'vitest'
import {slopeTest, weightedLine} from '../../../src/stats/index.js'
import {REFERENCE, TAIL_BOUND} from '../../helpers/stats-reference.js'

describe('weightedLine', () => {
  it('agrees with statsmodels', () => {
    const {x, y, errors, ...wanted} = REFERENCE.weighted_line
    const line = weightedLine(x, y, errors)
    expect(line.slope).toMatchReference(wanted.slope, 12)
    expect(line.intercept).toMatchReference(wanted.intercept, 12)
    expect(line.slopeError).toMatchReference(wanted.slope_error, 12)
    expect(line.interceptError).toMatchReference(wanted.intercept_error, 12)
    // squares of distances that are off by some roundings of 4 over an error of 0.02
    expect(line.chiSquare).toMatchReference(wanted.chi_square, 11)
    expect(line.pValue).toMatchReference(wanted.p, 11)
    expect(line.degrees).toBe(3)
  })

  it('goes through two points, of which it cannot say whether they lie on a line', () => {
    const line = weightedLine([0, 2], [1, 5], [0.1, 0.3])
    expect(line).toMatchObject({degrees: 0, pValue: Number.NaN})
    expect(line.slope).toMatchReference(2, 14)
    expect(line.intercept).toMatchReference(1, 14)
  })

  it('has no answer to NaN', () => {
    const line = weightedLine([1, 2, 3], [1, Number.NaN, 3], [1, 1, 1])
    expect(line.slope).toBeNaN()
    expect(line.pValue).toBeNaN()
  })

  it.each([
    [[1, 2], [1], [1, 1], 'SHAPE_MISMATCH', /x, y and errors of equal length, got 2, 1 and 2/],
    [[1, 2], [1, 1], [1, 0], 'BAD_OPTION', /errors\[1\]: expected a positive number, got 0/],
    [[1, 2], [1, 1], [Number.NaN, 1], 'BAD_OPTION', /errors\[0\]: .*, got NaN/],
    [
      [2, 2],
      [1, 3],
      [1, 1],
      'BAD_OPTION',
      /at least two different values of x, got only one \(2\)/,
    ],
    [[], [], [], 'BAD_OPTION', /got none/],
  ])('refuses %j, %j, %j', (x, y, errors, code, message) => {
    const act = () => weightedLine(x, y, errors)
    expect(act).toThrow(message)
    expect(act).toThrow(expect.objectContaining({code}))
  })
})

describe('slopeTest', () => {
  const line = {slope: -1.2, slopeError: 0.1}
  // P(Z > 2), Abramowitz and Stegun table 26.1
  const tail = 0.022750131948179

  it('is a z test of the slope', () => {
    expect(Math.abs(slopeTest(line, -1, 'less') / tail - 1)).toBeLessThan(TAIL_BOUND)
    expect(Math.abs(slopeTest(line, -1) / (2 * tail) - 1)).toBeLessThan(TAIL_BOUND)
    expect(Math.abs(slopeTest(line, -1, 'greater') - (1 - tail))).toBeLessThan(TAIL_BOUND)
  })
})
