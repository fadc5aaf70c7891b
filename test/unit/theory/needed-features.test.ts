import fc from 'fast-check'
import {describe, expect, it} from 'vitest'
import {DEPENDENT_ROWS, ratioToIid} from '../../../src/theory/dependent-rows.js'
import {type ErrorRequest, neededFeatures} from '../../../src/theory/needed-features.js'
import {relativeRowVariance} from '../../../src/theory/row-product.js'

/** Relative mean squared error of M rows. */
function squaredError({product, headDim, rows}: ErrorRequest, numFeatures: number): number {
  const ratio = rows === 'iid' ? 1 : ratioToIid(rows, product, {headDim, numFeatures})
  return (ratio * relativeRowVariance(product, headDim)) / numFeatures
}

describe('neededFeatures', () => {
  it('is the first M of all with the wanted error', () => {
    const requests = fc.record({
      product: fc.record({
        shape: fc.constantFrom('exp' as const, 'cosh' as const, 'cos' as const),
        squaredNorm: fc.double({min: 0.05, max: 4, noNaN: true}),
      }),
      headDim: fc.integer({min: 2, max: 20}),
      rows: fc.constantFrom('iid' as const, 'orth' as const),
      relativeError: fc.double({min: 0.1, max: 1.5, noNaN: true}),
    })
    fc.assert(
      fc.property(requests, request => {
        const found = neededFeatures(request)
        let first = 1
        while (squaredError(request, first) > request.relativeError ** 2) first++
        expect(found).toBe(first)
      }),
      {numRuns: 300, seed: 8},
    )
  })

  it('is never above that of i.i.d. rows, but for even products of antithetic ones, and is enough', () => {
    for (const rows of DEPENDENT_ROWS) {
      for (const shape of ['exp', 'cosh', 'cos'] as const) {
        const request: ErrorRequest = {
          product: {shape, squaredNorm: 2},
          headDim: 6,
          rows,
          relativeError: 0.2,
        }
        const found = neededFeatures(request)
        expect(squaredError(request, found)).toBeLessThanOrEqual(0.04)
        if (rows === 'antithetic' && shape !== 'exp') continue
        expect(found).toBeLessThanOrEqual(neededFeatures({...request, rows: 'iid'}))
      }
    }
  })

  it('is 1 where nothing varies, and infinite beyond what can be counted', () => {
    const request = {headDim: 6, rows: 'orth', relativeError: 0.1} as const
    expect(neededFeatures({...request, product: {shape: 'exp', squaredNorm: 0}})).toBe(1)
    for (const squaredNorm of [40, 800]) {
      const product = {shape: 'exp', squaredNorm} as const
      expect(neededFeatures({...request, product})).toBe(Number.POSITIVE_INFINITY)
    }
  })
})
