import {describe, expect, it} from 'vitest'
import {
  matrixExponent,
  meanSum2,
  relativeLogMoment,
  scalarExponent,
} from '../../../../src/attention/forms/exponential/parameters.js'
import {denseGain} from '../../../../src/claims/evidence/second-moments.js'
import type {ErrorSweepCell} from '../../../../src/experiments/error-sweep/schema.js'
import {normals, randomStream} from '../../../../src/random/index.js'
import {dataOf, outcomeOf} from '../../../helpers/claims.js'

describe('H25', () => {
  const truth = (ratioOf: (peaked: boolean) => number) => (cell: ErrorSweepCell) => ({
    mse: cell.method === 'sderf' ? ratioOf(dataOf(cell).includes('layer3')) : 1,
  })

  it('depends on the layer where errors follow second moments, and is refuted where they do not', async () => {
    const verdictOf = async (ratioOf: (peaked: boolean) => number) =>
      (await outcomeOf('H25', truth(ratioOf))).verdict
    expect(await verdictOf(peaked => (peaked ? 0.2 : 0.9))).toBe('depends')
    expect(await verdictOf(() => 1.5)).toBe('refuted')
    expect(await verdictOf(() => 1)).toBe('inconclusive')
  })

  it('means the second moments of all pairs', () => {
    const [length, headDim] = [9, 5]
    const side = (index: number) =>
      normals(randomStream(2, 'test.tokens', index), length * headDim).map(
        (x, at) => x * (1 + (at % headDim)) * 0.4 + 0.3,
      )
    const [query, key] = [side(0), side(1)]
    const rows = (data: Float64Array) =>
      Array.from({length}, (_, t) => data.subarray(t * headDim, (t + 1) * headDim))
    const average = (data: Float64Array, of: (row: Float64Array) => number[]) => {
      const all = rows(data).map(of)
      return Float64Array.from(all[0]!, (_, i) => all.reduce((s, x) => s + x[i]!, 0) / length)
    }
    const both = (of: (row: Float64Array) => number[]) => ({
      query: average(query, of),
      key: average(key, of),
    })
    const moments = {
      mean: both(row => [...row]),
      squares: both(row => Array.from(row, x => x * x)),
      outer: both(row => Array.from(row, x => Array.from(row, y => x * y)).flat()),
    }
    const dense = {exponent: matrixExponent(moments)}
    const single = {exponent: scalarExponent(meanSum2(moments), headDim)}
    const pairs = rows(query).flatMap(x =>
      rows(key).map(y => relativeLogMoment(2, single, x, y) - relativeLogMoment(2, dense, x, y)),
    )
    const expected = pairs.reduce((sum, gain) => sum + gain, 0) / pairs.length
    const gain = denseGain({query, key, headDim})
    expect(gain.value).toMatchReference(expected, 10)
    expect(gain.value).toBeGreaterThan(0)
    expect(gain.low).toBeLessThan(gain.value)
    expect(gain.high).toBeGreaterThan(gain.value)
  })
})
