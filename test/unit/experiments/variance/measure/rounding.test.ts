import {describe, expect, it} from 'vitest'
import {
  closedFormVariance,
  isRounding,
} from '../../../../../src/experiments/variance/measure/rounding.js'
import {pairOf} from '../../../../../src/experiments/variance/pairs.js'
import {positiveVariance, softmaxKernel, squaredNorms} from '../../../../../src/theory/kernels.js'
import {FLOAT32_ROUNDOFF} from '../../../../../src/theory/rounding.js'
import {variance, varianceCell} from '../../../../helpers/records/variance.js'

const {result} = variance()
/** Closed form and expectation of positive features for a pair of a cell. */
function closedForm(norm: number, angle_deg: number, head_dim = 17) {
  const cell = varianceCell({norm, angle_deg, head_dim})
  const {x, y} = pairOf(cell)
  const shown = closedFormVariance(cell, {
    ...result,
    expectation: softmaxKernel(x, y),
    closed_form_variance: positiveVariance(x, y, 1),
  })
  return {shown, exact: positiveVariance(x, y, 1), ...squaredNorms(x, y)}
}

describe('closedFormVariance', () => {
  it.each([0.5, 1, 2, 4])('is 0 for opposite vectors of norm %f', norm => {
    for (const head_dim of [2, 17, 64, 1024]) {
      const {shown, sum} = closedForm(norm, 180, head_dim)
      expect(sum).toBeLessThanOrEqual((2 ** -49 * norm) ** 2)
      expect(shown).toBe(0)
    }
  })

  it('keeps what is small, but no rounding', () => {
    for (const angle of [179.999, 180.0001, 179.99999999]) {
      const {shown, exact} = closedForm(1, angle)
      expect(shown).toBe(exact)
      expect(exact).toBeGreaterThan(0)
    }
    const tiny = {...result, expectation: 1, closed_form_variance: 1e-25}
    expect(closedFormVariance(varianceCell({norm: 1}), tiny)).toBe(1e-25)
  })

  it('is null where there is none', () => {
    const none = {...result, closed_form_variance: null}
    expect(closedFormVariance(varianceCell(), none)).toBeNull()
  })
})

describe('isRounding', () => {
  const row = result.per_projection[0]!
  const flat = {...row, withheld: 'theory leaves no spread', mean: 0.5}
  const bound = (result.feature_dim * FLOAT32_ROUNDOFF * 0.5) ** 2

  it('is what float32 makes of a sum of that size, and no more', () => {
    expect(isRounding({...flat, variance: bound}, result)).toBe(true)
    expect(isRounding({...flat, variance: bound * 1.01}, result)).toBe(false)
  })

  it('is never a row that was measured, or not seen', () => {
    expect(isRounding({...row, variance: 0}, result)).toBe(false)
    expect(isRounding({...flat, variance: null}, result)).toBe(false)
  })
})
