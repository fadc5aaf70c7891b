import fc from 'fast-check'
import {describe, expect, it} from 'vitest'
import {ratioToIid} from '../../../src/theory/dependent-rows.js'
import {positiveVariance, squaredNorms} from '../../../src/theory/kernels.js'
import {orthogonalBoundRatio} from '../../../src/theory/orthogonality-bounds.js'

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

/** What the theorem allows. */
function bound(x: Float64Array, y: Float64Array, numFeatures: number): number {
  const ratio = orthogonalBoundRatio(squaredNorms(x, y).sum, {headDim: x.length, numFeatures})
  return ratio * positiveVariance(x, y, numFeatures)
}

describe('the later bound of theorem 2', () => {
  it('is never below the exact error, for M up to D and, by pairs, beyond', () => {
    fc.assert(
      fc.property(pair, ([x, y, numFeatures]) => {
        const error = exact(x, y, numFeatures)
        if (Number.isNaN(error)) return
        // both are differences from the variance of i.i.d. rows
        const rounding = 2 ** -44 * positiveVariance(x, y, numFeatures)
        expect(error).toBeLessThanOrEqual(bound(x, y, numFeatures) + rounding)
      }),
      {numRuns: 300, seed: 5},
    )
  })

  it('is tight in the limit of small |x + y|', () => {
    const dim = 8
    const x = new Float64Array(dim).fill(0.01)
    const independent = positiveVariance(x, x, dim)
    const gap = independent - exact(x, x, dim)
    expect((independent - bound(x, x, dim)) / gap).toMatchReference(1, 2)
  })
})
