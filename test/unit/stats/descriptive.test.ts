import fc from 'fast-check'
import {describe, expect, it} from 'vitest'
import {mean, median, quantile, tukeyOutliers, variance} from '../../../src/stats/index.js'

/** Rounding of a sum of n terms: at most n units in the last place of the summed magnitudes. */
const sumBound = (values: number[]) =>
  values.length * Number.EPSILON * values.reduce((sum, value) => sum + Math.abs(value), 0)

const samples = fc.array(fc.double({min: -1e6, max: 1e6, noNaN: true}), {
  minLength: 2,
  maxLength: 40,
})

describe('mean', () => {
  it('is the sum over the count', () => {
    expect(mean([1, 2, 4, 9])).toBe(4)
  })

  it('keeps its digits under a large common offset', () => {
    expect(mean([1e15 + 1, 1e15 + 2, 1e15 + 6])).toBe(1e15 + 3)
  })

  it('agrees with the plain sum within rounding', () => {
    fc.assert(
      fc.property(samples, values => {
        const plain = values.reduce((sum, value) => sum + value, 0) / values.length
        // both have at most the bound of their sum, divided by n, as error
        expect(Math.abs(mean(values) - plain)).toBeLessThanOrEqual(
          (2 * sumBound(values)) / values.length,
        )
      }),
    )
  })

  it('is NaN for no values, and infinite or NaN when a value is', () => {
    expect(mean([])).toBeNaN()
    expect(mean([1, Number.NaN])).toBeNaN()
    expect(mean([1, Number.POSITIVE_INFINITY])).toBe(Number.POSITIVE_INFINITY)
    expect(mean([Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY])).toBeNaN()
  })
})

describe('variance', () => {
  it('divides the squared deviations by n - 1', () => {
    expect(variance([1, 3, 5, 7, 9])).toBe(10)
  })

  it('keeps its digits under a large common offset', () => {
    expect(variance([1e9 + 1, 1e9 + 3, 1e9 + 5])).toBe(4)
  })

  it('is 0 for equal values and NaN below two values', () => {
    expect(variance([0.1, 0.1, 0.1])).toBe(0)
    expect(variance([3])).toBeNaN()
    expect(variance([])).toBeNaN()
  })

  it('is NaN when a value is not finite', () => {
    expect(variance([1, 2, Number.POSITIVE_INFINITY])).toBeNaN()
  })
})

describe('quantile', () => {
  // R: quantile(c(1, 2, 4, 8, 16), c(0, .1, .25, .5, .9, 1)), type 7
  it.each([
    [0, 1],
    [0.1, 1.4],
    [0.25, 2],
    [0.5, 4],
    [0.9, 12.8],
    [1, 16],
  ])('of type 7 at p = %d of 1, 2, 4, 8, 16 is %d', (p, value) => {
    // three roundings of numbers below 16
    expect(Math.abs(quantile([16, 1, 8, 2, 4], p) - value)).toBeLessThanOrEqual(
      3 * 16 * Number.EPSILON,
    )
  })

  it('stays within the values and grows with p', () => {
    const share = fc.double({min: 0, max: 1, noNaN: true})
    fc.assert(
      fc.property(samples, share, share, (values, a, b) => {
        const [low, high] = [Math.min(a, b), Math.max(a, b)].map(p => quantile(values, p))
        const slack = 2 * Number.EPSILON * Math.max(...values.map(Math.abs))
        expect(low).toBeGreaterThanOrEqual(Math.min(...values) - slack)
        expect(high).toBeLessThanOrEqual(Math.max(...values) + slack)
        expect(low! - high!).toBeLessThanOrEqual(slack)
      }),
    )
  })

  it('does not change what it is given', () => {
    const values = [3, 1, 2]
    quantile(values, 0.5)
    expect(values).toEqual([3, 1, 2])
  })

  it('orders infinities and never turns them into NaN', () => {
    const {POSITIVE_INFINITY: top, NEGATIVE_INFINITY: bottom} = Number
    expect(median([1, top, 2])).toBe(2)
    expect(median([1, top, 2, top])).toBe(top)
    expect(median([top, top])).toBe(top)
    expect(median([bottom, 5])).toBe(bottom)
    expect(quantile([1, top], 0)).toBe(1)
  })

  it('is NaN for no values and for NaN among them', () => {
    expect(quantile([], 0.5)).toBeNaN()
    expect(quantile([1, Number.NaN, 2], 0.5)).toBeNaN()
  })
})

describe('median', () => {
  it('is the middle value, or the mean of the middle two', () => {
    expect(median([9, 1, 5])).toBe(5)
    expect(median([9, 1, 5, 7])).toBe(6)
    expect(median([2])).toBe(2)
  })
})

describe('tukeyOutliers', () => {
  const NONE = {lowSevere: 0, lowMild: 0, highMild: 0, highSevere: 0, mild: 0, severe: 0}

  it('counts values outside the quartiles by more than 1.5 and by more than 3 interquartile ranges', () => {
    // quartiles 2 and 4: fences at -1 and 7, -4 and 10
    expect(tukeyOutliers([1, 2, 3, 4, 5])).toEqual(NONE)
    expect(tukeyOutliers([-1, 2, 3, 4, 7])).toEqual(NONE)
    expect(tukeyOutliers([-2, 2, 3, 4, 8])).toEqual({...NONE, lowMild: 1, highMild: 1, mild: 2})
    expect(tukeyOutliers([-4, 2, 3, 4, 10])).toEqual({...NONE, lowMild: 1, highMild: 1, mild: 2})
    const bothKinds = {lowSevere: 1, highMild: 1, mild: 1, severe: 1}
    expect(tukeyOutliers([-5, 2, 3, 4, 8])).toEqual({...NONE, ...bothKinds})
  })

  it('finds none in an empty sample and in equal values', () => {
    expect(tukeyOutliers([])).toEqual(NONE)
    expect(tukeyOutliers([3, 3, 3, 3])).toEqual(NONE)
  })
})
