import {describe, expect, it} from 'vitest'
import {drawProjection} from '../../../../src/attention/index.js'
import {directionNumbers} from '../../../../src/attention/projections/sobol.js'
import {column, eachOnce, strataOf} from '../../../helpers/strata.js'

/** Unscrambled Sobol point: direction numbers chosen by the Gray code of the index. */
function sobolPoint(index: number, dimension: number): number {
  const gray = index ^ (index >>> 1)
  return (
    directionNumbers(dimension).reduce((sum, v, bit) => sum ^ ((gray >>> bit) & 1 ? v : 0), 0) >>> 0
  )
}

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
        const found = strataOf(column(rows, d, headDim).subarray(0, count), count)
        expect(found.sort((a, b) => a - b)).toEqual(eachOnce(count))
      }
    }
  })

  it('the first two dimensions are a (0, 2)-sequence: one point in each elementary rectangle', () => {
    const rows = drawProjection({name: 'sobol', heads: 1, numFeatures: 64, headDim: 2, seed: 5})
    for (const across of [1, 2, 4, 8, 16, 32, 64]) {
      const xs = strataOf(column(rows, 0, 2), across)
      const ys = strataOf(column(rows, 1, 2), 64 / across)
      expect(new Set(xs.map((x, i) => x * 64 + ys[i]!)).size).toBe(64)
    }
  })
})
