import {describe, expect, it} from 'vitest'
import {
  logInterval,
  ratioStandardError,
  sampleKurtosis,
  squaresCorrelation,
} from '../../../src/stats/index.js'

describe('intervals of variances', () => {
  it('are symmetric on the logarithmic scale, 1.96 standard errors to each side', () => {
    const {low, high} = logInterval(3, 0.1)
    expect(Math.log(high / 3)).toMatchReference(0.1959963984540054, 12)
    expect(low * high).toMatchReference(9, 12)
    expect(logInterval(3, 0)).toEqual({low: 3, high: 3})
  })

  it('know the kurtosis of a sample', () => {
    expect(sampleKurtosis([-1, 1, 1, -1])).toBe(-2)
    // deviations 7 and seven times -1: m2 = 56/8, m4 = 2408/8
    expect(sampleKurtosis([0, 0, 0, 0, 0, 0, 0, 8])).toMatchReference(301 / 49 - 3, 12)
    expect(sampleKurtosis([2, 2, 2])).toBeNaN()
  })

  it('know how much two samples share: all, nothing, or the opposite', () => {
    const values = [1, 2, 4, 7]
    expect(squaresCorrelation(values, values)).toMatchReference(1, 12)
    expect(
      squaresCorrelation(
        values,
        values.map(value => 5 - 3 * value),
      ),
    ).toMatchReference(1, 12)
    expect(squaresCorrelation([0, 0, 1, 1], values)).toBeNaN() // all equally far from their mean
  })

  it('of ratios are those of independent errors where nothing is shared, a point where all is', () => {
    expect(ratioStandardError(0.3, 0.4, 0)).toMatchReference(0.5, 12)
    expect(ratioStandardError(0.3, 0.3, 1)).toBe(0)
  })
})
