import {describe, expect, it} from 'vitest'
import {weightedLine} from '../../../src/stats/index.js'
import {REFERENCE} from '../../helpers/stats-reference.js'

describe('weightedLine', () => {
  it('agrees with statsmodels', () => {
    const {x, y, errors, ...wanted} = REFERENCE.weighted_line
    const line = weightedLine(x, y, errors)
    expect(line.slope).toMatchReference(wanted.slope, 12)
    expect(line.slopeError).toMatchReference(wanted.slope_error, 12)
  })

  it('goes through two points', () => {
    expect(weightedLine([0, 2], [1, 5], [0.1, 0.3]).slope).toMatchReference(2, 14)
  })

  it('has no answer to NaN', () => {
    expect(weightedLine([1, 2, 3], [1, Number.NaN, 3], [1, 1, 1]).slope).toBeNaN()
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
