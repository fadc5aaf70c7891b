import {describe, expect, it} from 'vitest'
import {ratioPValue} from '../../../src/stats/index.js'

describe('ratioPValue', () => {
  it('is 0.05 where the interval ends at 1, on either side', () => {
    expect(ratioPValue({value: 2, low: 1, high: 100})).toMatchReference(0.05, 12)
    expect(ratioPValue({value: 0.5, low: 1e-3, high: 1})).toMatchReference(0.05, 12)
  })

  it('is that of the published example', () => {
    // Altman and Bland 2011: a ratio of 0.81 with 0.70 to 0.94 has p = 0.005, from the mean width of both sides;
    // here the side of 1 counts: z = ln(0.81) / (ln(0.94 / 0.81) / 1.96) = -2.78
    expect(ratioPValue({value: 0.81, low: 0.7, high: 0.94})).toMatchReference(0.0055, 2)
  })

  it('knows a point, and no p-value without an interval', () => {
    expect(ratioPValue({value: 1, low: 1, high: 1})).toBe(1)
    expect(ratioPValue({value: 1.1, low: 1.1, high: 1.1})).toBe(0)
    for (const value of [1, 2]) {
      expect(ratioPValue({value, low: Number.NaN, high: Number.NaN})).toBeNaN()
    }
  })
})
