import {describe, expect, it} from 'vitest'
import {normals, randomStream} from '../../../src/random/index.js'
import {LEAST_FOR_INTERVAL, medianInterval} from '../../../src/stats/index.js'

const countUpTo = (length: number) => Float64Array.from({length}, (_, i) => i + 1)

/** P(Bin(n, 1/2) < k) from Pascal's triangle in whole numbers. */
function binomialTail(n: number, k: number): number {
  let row = [1n]
  for (let i = 0; i < n; i++) {
    row = [1n, ...row.slice(1).map((entry, j) => entry + row[j]!), 1n]
  }
  const below = row.slice(0, k).reduce((sum, entry) => sum + entry, 0n)
  return Number(below) / 2 ** n
}

describe('medianInterval', () => {
  it('has none for five values or fewer, whose range covers the median too rarely', () => {
    for (let length = 0; length < LEAST_FOR_INTERVAL; length++) {
      expect(medianInterval(countUpTo(length))).toEqual({low: Number.NaN, high: Number.NaN})
    }
    // 1 - 2^-4 = 0.9375 below, 1 - 2^-5 = 0.96875 from here on
    expect(medianInterval(countUpTo(LEAST_FOR_INTERVAL))).toEqual({low: 1, high: 6})
  })

  it.each([
    [8, 1],
    [9, 2],
    [10, 2],
    [15, 4],
    [20, 6],
    [100, 40],
  ])('of %d values ends at the ranks of the sign test: %d from either end', (length, rank) => {
    expect(medianInterval(countUpTo(length))).toEqual({low: rank, high: length + 1 - rank})
  })

  it.each([6, 7, 13, 31, 101, 500])('of %d values is the narrowest that covers 95 %%', length => {
    const {low: rank, high} = medianInterval(countUpTo(length))
    expect(high).toBe(length + 1 - rank)
    expect(2 * binomialTail(length, rank)).toBeLessThanOrEqual(0.05)
    expect(2 * binomialTail(length, rank + 1)).toBeGreaterThan(0.05)
  })

  it('holds samples whose probabilities are no doubles', () => {
    const {low, high} = medianInterval(countUpTo(5000))
    // normal limit: 2500 - 0.98 sqrt(5000) = 2430.7, and the next ranks differ by less than 0.1 %
    expect(Math.abs(low - 2430.7)).toBeLessThan(2)
    expect(low + high).toBe(5001)
  })

  it('covers the median of a skewed distribution as often as its ranks say', () => {
    const trials = 4000
    let covered = 0
    for (let trial = 0; trial < trials; trial++) {
      const sample = normals(randomStream(11, 'test.median', trial), 7).map(Math.exp)
      const {low, high} = medianInterval(sample)
      if (low <= 1 && 1 <= high) covered++
    }
    // n = 7, k = 1: 1 - 2^-6; five binomial standard deviations to either side
    const coverage = 1 - 2 ** -6
    const spread = Math.sqrt((coverage * (1 - coverage)) / trials)
    expect(Math.abs(covered / trials - coverage)).toBeLessThan(5 * spread)
  })

  it('takes infinities for the ends and has nothing to say about NaN', () => {
    const broken = [4, 2, 5, 1, 3, Number.POSITIVE_INFINITY]
    expect(medianInterval(broken)).toEqual({low: 1, high: Number.POSITIVE_INFINITY})
    expect(medianInterval([1, 2, 3, 4, 5, 6, Number.NaN]).low).toBeNaN()
  })

  it('leaves the values as they are', () => {
    const values = Float64Array.of(6, 5, 4, 3, 2, 1)
    medianInterval(values)
    expect([...values]).toEqual([6, 5, 4, 3, 2, 1])
  })
})
