import {describe, expect, it} from 'vitest'
import {drawProjection} from '../../../../src/attention/index.js'
import {firstPrimes} from '../../../../src/attention/projections/halton.js'
import {quasiNormal} from '../../../../src/attention/projections/quasi-normal.js'
import {directionNumbers} from '../../../../src/attention/projections/sobol.js'
import {normalQuantile} from '../../../../src/stats/normal.js'

/** Unscrambled Sobol point: direction numbers chosen by the Gray code of the index. */
function sobolPoint(index: number, dimension: number): number {
  const gray = index ^ (index >>> 1)
  return (
    directionNumbers(dimension).reduce((sum, v, bit) => sum ^ ((gray >>> bit) & 1 ? v : 0), 0) >>> 0
  )
}

/** Which of `count` equally probable intervals each number falls into. */
function cells(values: Float64Array, count: number): number[] {
  const edges = Array.from({length: count - 1}, (_, i) => normalQuantile((i + 1) / count))
  return Array.from(values, x => edges.filter(edge => edge <= x).length)
}

const column = (rows: Float64Array, d: number, headDim: number) =>
  rows.filter((_, at) => at % headDim === d)
const range = (count: number) => Array.from({length: count}, (_, i) => i)

describe('sobol', () => {
  it('has the points of an independent implementation before scrambling, as 64ths', () => {
    // SciPy 1.17, qmc.Sobol(d=512, scramble=False), points 1, 3, 6, 37, 63 in the dimensions named
    const dimensions = [0, 1, 2, 7, 63, 250, 511]
    const points: [number, number[]][] = [
      [1, [32, 32, 32, 32, 32, 32, 32]],
      [3, [16, 48, 48, 16, 16, 48, 16]],
      [6, [40, 8, 56, 8, 56, 24, 40]],
      [37, [59, 41, 37, 51, 53, 11, 3]],
      [63, [1, 51, 23, 9, 47, 13, 9]],
    ]
    for (const [index, expected] of points) {
      expect(dimensions.map(d => sobolPoint(index, d) / 2 ** 26)).toEqual(expected)
    }
  })

  it('the first 2^k scrambled points of every dimension have one in each interval of 2^-k', () => {
    const headDim = 11
    const rows = drawProjection({name: 'sobol', heads: 1, numFeatures: 64, headDim, seed: 1})
    for (let d = 0; d < headDim; d++) {
      for (const count of [1, 2, 16, 64]) {
        const found = cells(column(rows, d, headDim).subarray(0, count), count)
        expect(found.sort((a, b) => a - b)).toEqual(range(count))
      }
    }
  })

  it('the first two dimensions are a (0, 2)-sequence: one point in each elementary rectangle', () => {
    const rows = drawProjection({name: 'sobol', heads: 1, numFeatures: 64, headDim: 2, seed: 5})
    for (const across of [1, 2, 4, 8, 16, 32, 64]) {
      const xs = cells(column(rows, 0, 2), across)
      const ys = cells(column(rows, 1, 2), 64 / across)
      expect(new Set(xs.map((x, i) => x * 64 + ys[i]!)).size).toBe(64)
    }
  })
})

describe('halton', () => {
  it('uses the primes', () => {
    expect(firstPrimes(10)).toEqual([2, 3, 5, 7, 11, 13, 17, 19, 23, 29])
  })

  it('the first p^k points of a dimension have one in each interval of p^-k', () => {
    const primes = firstPrimes(5)
    const rows = drawProjection({name: 'halton', heads: 1, numFeatures: 125, headDim: 5, seed: 3})
    primes.forEach((prime, d) => {
      for (let count = 1; count <= 125; count *= prime) {
        const found = cells(column(rows, d, 5).subarray(0, count), count)
        expect(found.sort((a, b) => a - b)).toEqual(range(count))
      }
    })
  })
})

describe('quasiNormal', () => {
  it('is odd about the middle and finite at both ends', () => {
    const cellsInAll = 2 ** 32
    const least = 2 ** -54
    expect(quasiNormal(0, least, cellsInAll)).toBeGreaterThan(-20)
    expect(quasiNormal(cellsInAll - 1, 1 - 2 ** -53, cellsInAll)).toBeLessThan(20)
    expect(quasiNormal(5, 0.5, cellsInAll)).toBe(-quasiNormal(cellsInAll - 6, 0.5, cellsInAll))
  })
})
