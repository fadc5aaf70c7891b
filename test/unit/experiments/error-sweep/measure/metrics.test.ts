import {describe, expect, it} from 'vitest'
import {
  errorMetrics,
  exactSums,
  rowSumDeviation,
} from '../../../../../src/experiments/error-sweep/measure/metrics.js'
import {OutputMoments} from '../../../../../src/experiments/error-sweep/measure/moments.js'

/** Sums of an estimate without row sums. @param heads - equal parts of both */
function sumsOf(estimate: number[], exact: Float64Array, dim: number, heads = 1) {
  const rows = exact.length / dim
  const widened = Array.from({length: rows}, (_, row) => [
    ...estimate.slice(row * dim, (row + 1) * dim),
    1,
  ])
  const sizes = {heads, queryLen: rows / heads, valueDim: dim}
  return new OutputMoments(exact, [sizes], 1).add(Float32Array.from(widened.flat()))
}

const metricsOf = (estimate: number[], exact: Float64Array, dim: number, heads = 1) =>
  errorMetrics(sumsOf(estimate, exact, dim, heads), exactSums(exact, heads, dim))

describe('errorMetrics', () => {
  const exact = Float64Array.of(3, 4, 0, 0, 1, 0) // rows (3, 4), (0, 0), (1, 0)

  it('is zero, with cosine one, for the exact output', () => {
    expect(metricsOf([...exact], exact, 2)).toEqual({
      mse: 0,
      rel_l2: 0,
      rel_l1: 0,
      max_abs: 0,
      cosine: 1,
      not_finite_pct: 0,
    })
  })

  it('agrees with the definitions on a worked example', () => {
    const estimate = [4, 4, 0, 0, 0, 2] // differences 1 0 0 0 -1 2
    const metrics = metricsOf(estimate, exact, 2)
    expect(metrics.mse).toBe(6 / 6)
    expect(metrics.rel_l2).toBe(Math.sqrt(6 / 26))
    expect(metrics.rel_l1).toBe(4 / 8)
    expect(metrics.max_abs).toBe(2)
    expect(metrics.cosine).toBe((28 / Math.sqrt(32 * 25) + 1 + 0) / 3)
  })

  it('counts entries that are not finite and gives no distance for them', () => {
    const metrics = metricsOf([3, Number.NaN, 0, 0, Infinity, 0], exact, 2)
    expect(metrics.not_finite_pct).toBe((100 * 2) / 6)
    expect(metrics.mse).toBeNaN()
    expect(metrics.max_abs).toBeNaN()
  })

  it('takes a zero row for unlike a row that is not zero', () => {
    expect(metricsOf([0, 0], Float64Array.of(1, 0), 2).cosine).toBe(0)
  })
})

describe('errorMetrics of several heads', () => {
  const exact = Float64Array.of(3, 4, 0, 5)
  const estimate = [3, 5, 4, 5]

  it('are those of all rows together', () => {
    expect(metricsOf(estimate, exact, 2, 2)).toEqual(metricsOf(estimate, exact, 2))
  })

  it('can be had of one alone', () => {
    const sums = sumsOf(estimate, exact, 2, 2)
    const second = errorMetrics([sums[1]!], [exactSums(exact, 2, 2)[1]!])
    expect(second).toEqual(metricsOf(estimate.slice(2), exact.slice(2), 2))
    expect(second.mse).toBe(8)
  })
})

it('rowSumDeviation is the mean distance of the weights of a row from one', () => {
  const exact = Float64Array.of(0, 0)
  const estimate = Float32Array.of(0, 1.5, 0, 0.75) // values of 0, sums of 1.5 and 0.75
  const sums = new OutputMoments(exact, [{heads: 1, queryLen: 2, valueDim: 1}], 1).add(estimate)
  expect(rowSumDeviation(sums, exactSums(exact, 1, 1))).toBe((0.5 + 0.25) / 2)
})
