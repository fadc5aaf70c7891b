import {describe, expect, it} from 'vitest'
import {isSettled, isSettledSlope, isTold} from '../../../src/answers/index.js'
import type {Estimate} from '../../../src/stats/index.js'

describe('a ratio', () => {
  it('is settled within a factor of 1.25 to either side', () => {
    expect(isSettled({value: 2, low: 1.6, high: 2.5})).toBe(true)
    expect(isSettled({value: 2, low: 1.6, high: 2.51})).toBe(false)
    expect(isSettled({value: 2, low: 1.59, high: 2.5})).toBe(false)
  })

  it('is unknown only where its interval has no end', () => {
    expect(isTold({value: 2, low: 0, high: Number.POSITIVE_INFINITY})).toBe(false)
    expect(isTold({value: 2, low: 0, high: 1e9})).toBe(true)
  })
})

describe('isSettledSlope', () => {
  const slope = (low: number, high: number): Estimate => ({value: 1.5, low, high})

  it('asks for ends within a quarter', () => {
    expect(isSettledSlope(slope(1.25, 1.75))).toBe(true)
    expect(isSettledSlope(slope(1.24, 1.5))).toBe(false)
    expect(isSettledSlope(slope(1.5, 1.76))).toBe(false)
    expect(isSettledSlope(slope(Number.NaN, Number.NaN))).toBe(false)
  })
})
