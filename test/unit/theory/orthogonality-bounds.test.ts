import fc from 'fast-check'
import {describe, expect, it} from 'vitest'
import {ratioToIid, sharedPairs} from '../../../src/theory/dependent-rows.js'
import {positiveVariance, squaredNorms} from '../../../src/theory/kernels.js'
import {orthogonalBound} from '../../../src/theory/orthogonality-bounds.js'

const pair = fc.integer({min: 2, max: 40}).chain(dim => {
  const entry = fc.double({min: -1.5, max: 1.5, noNaN: true}).map(value => value / Math.sqrt(dim))
  const vector = fc
    .array(entry, {minLength: dim, maxLength: dim})
    .map(values => Float64Array.from(values))
  return fc.tuple(vector, vector, fc.integer({min: 1, max: 3 * dim}))
})

/** The exact mean squared error with orthogonal rows. */
function exact(x: Float64Array, y: Float64Array, numFeatures: number): number {
  const product = {shape: 'exp', squaredNorm: squaredNorms(x, y).sum} as const
  const ratio = ratioToIid('orth', product, {headDim: x.length, numFeatures})
  return ratio * positiveVariance(x, y, numFeatures)
}

describe('the later bound of theorem 2', () => {
  it('is never below the exact error, for M up to D and, by pairs, beyond', () => {
    fc.assert(
      fc.property(pair, ([x, y, numFeatures]) => {
        const pairs = sharedPairs('orth', {headDim: x.length, numFeatures})
        const bound = orthogonalBound(x, y, numFeatures, pairs)
        const error = exact(x, y, numFeatures)
        if (Number.isNaN(error)) return
        // both are differences from the variance of i.i.d. rows
        const rounding = 2 ** -44 * positiveVariance(x, y, numFeatures)
        expect(error).toBeLessThanOrEqual(bound + rounding)
        if (numFeatures <= x.length) expect(orthogonalBound(x, y, numFeatures)).toBe(bound)
      }),
      {numRuns: 300, seed: 5},
    )
  })

  it('is tight in the limit of small |x + y|', () => {
    const dim = 8
    const x = new Float64Array(dim).fill(0.01)
    const independent = positiveVariance(x, x, dim)
    const gap = independent - exact(x, x, dim)
    expect((independent - orthogonalBound(x, x, dim)) / gap).toMatchReference(1, 2)
  })

  it('is 0 at opposite vectors, where no error is', () => {
    const x = Float64Array.of(0.6, -0.3, 0.2)
    const y = x.map(value => -value)
    expect(orthogonalBound(x, y, 3)).toBe(0)
  })
})
