import {describe, expect, it} from 'vitest'
import {type Estimate, factorOf, ratioOf, weightedSum} from '../../../src/stats/index.js'

const estimate = (low: number, value: number, high: number): Estimate => ({value, low, high})

describe('weightedSum', () => {
  it('adds what independent parts may add in each direction as squares', () => {
    const [a, b] = [estimate(7, 10, 11), estimate(16, 20, 22)]
    // down: 3 and 4; up: 1 and 2
    expect(
      weightedSum([
        {weight: 1, estimate: a},
        {weight: 1, estimate: b},
      ]),
    ).toEqual({value: 30, low: 25, high: 30 + Math.sqrt(5)})
  })

  it('turns an interval round with the sign of its weight', () => {
    const difference = weightedSum([
      {weight: 1, estimate: estimate(7, 10, 11)},
      {weight: -2, estimate: estimate(19, 20, 22)},
    ])
    // down: 3, and 2 x 2; up: 1, and 2 x 1
    expect(difference).toEqual({value: -30, low: -35, high: -30 + Math.sqrt(5)})
  })

  it('has no interval where a part has none', () => {
    const {value, low, high} = weightedSum([
      {weight: 1, estimate: estimate(1, 2, 3)},
      {weight: 1, estimate: estimate(Number.NaN, 2, Number.NaN)},
    ])
    expect([value, low, high]).toEqual([4, Number.NaN, Number.NaN])
  })
})

describe('ratioOf', () => {
  it('reaches as far as factors that are independent do', () => {
    const {value, low, high} = ratioOf(estimate(4, 8, 16), estimate(1, 2, 4))
    // a factor of 2 to either side, twice: 2^sqrt(2)
    expect(value).toBe(4)
    expect(low).toMatchReference(4 / 2 ** Math.SQRT2, 12)
    expect(high).toMatchReference(4 * 2 ** Math.SQRT2, 12)
  })

  it('knows no lower end where that above has none but 0', () => {
    const {low, high} = ratioOf(estimate(0, 8, 8), estimate(2, 2, 2))
    expect(low).toBe(0)
    expect(high).toMatchReference(4, 12)
  })
})

describe('factorOf', () => {
  it('is the farther of both ends', () => {
    expect(factorOf(estimate(4, 8, 10))).toBe(2)
    expect(factorOf(estimate(7, 8, 12))).toBe(1.5)
    expect(factorOf(estimate(0, 8, 9))).toBe(Number.POSITIVE_INFINITY)
    expect(factorOf(estimate(Number.NaN, 8, Number.NaN))).toBeNaN()
  })
})
