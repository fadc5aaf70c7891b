import {afterEach, describe, expect, it} from 'vitest'
import {
  errorMetrics,
  errorSums,
  exactSums,
  pairProducts,
} from '../../../../../src/experiments/error-sweep/measure/metrics.js'
import {OutputMoments} from '../../../../../src/experiments/error-sweep/measure/moments.js'
import {bringHostLoops, type ErrorSumsCall} from '../../../../../src/host-loops.js'

afterEach(() => bringHostLoops({}))

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
      token_mean_rel_l2: 0,
      max_abs: 0,
      cosine: 1,
      row_sum_deviation: 0,
      not_finite_pct: 0,
    })
  })

  it('agrees with the definitions on a worked example', () => {
    const estimate = [4, 4, 0, 0, 0, 2] // differences 1 0 0 0 -1 2
    const metrics = metricsOf(estimate, exact, 2)
    expect(metrics.mse).toBe(6 / 6)
    expect(metrics.rel_l2).toBe(Math.sqrt(6 / 26))
    expect(metrics.rel_l1).toBe(4 / 8)
    // means over rows: differences (0, 2), exact (4, 4), each over 3
    expect(metrics.token_mean_rel_l2).toBe(Math.sqrt((2 / 3) ** 2 / ((4 / 3) ** 2 + (4 / 3) ** 2)))
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
    const {token_mean_rel_l2: _, ...separate} = metricsOf(estimate, exact, 2, 2)
    expect(metricsOf(estimate, exact, 2)).toMatchObject(separate)
  })

  it('take the means over the rows of each head', () => {
    // one row in each of two heads, or two rows of one head, whose mean is off by (2, 0.5) of (1.5, 4.5)
    expect(metricsOf(estimate, exact, 2, 2).token_mean_rel_l2).toBe(Math.sqrt(17 / 50))
    const [off, size] = [2 ** 2 + 0.5 ** 2, 1.5 ** 2 + 4.5 ** 2]
    expect(metricsOf(estimate, exact, 2).token_mean_rel_l2).toBe(Math.sqrt(off / size))
  })

  it('can be had of one alone', () => {
    const sums = sumsOf(estimate, exact, 2, 2)
    const second = errorMetrics([sums[1]!], [exactSums(exact, 2, 2)[1]!])
    expect(second).toEqual(metricsOf(estimate.slice(2), exact.slice(2), 2))
    expect(second.mse).toBe(8)
  })
})

it('a deviation of row sums is the mean distance of the weights of a row from one', () => {
  const exact = Float64Array.of(0, 0)
  const estimate = Float32Array.of(0, 1.5, 0, 0.75) // values of 0, sums of 1.5 and 0.75
  const sums = new OutputMoments(exact, [{heads: 1, queryLen: 2, valueDim: 1}], 1).add(estimate)
  expect(errorMetrics(sums, exactSums(exact, 1, 1)).row_sum_deviation).toBe((0.5 + 0.25) / 2)
})

/** Two heads of two rows of two entries: exact rows (3, 4), (0, 0) and (1, 0), (0, 2). */
const call = (entries: readonly number[], rest: Partial<ErrorSumsCall> = {}): ErrorSumsCall => ({
  estimate: Float32Array.from(entries),
  exact: Float64Array.of(3, 4, 0, 0, 1, 0, 0, 2),
  heads: 2,
  valueDim: 2,
  mean: new Float32Array(8),
  count: 1,
  group: undefined,
  groupStep: 1,
  ...rest,
})
const EXACT = [3, 4, 1, 0, 0, 1, 1, 0, 1, 0, 2, 1]
// differences 1 0 | 0 0 and -1 2 | 0 0; row sums 1.5, 1 and 1, 0.75
const OFF = [4, 4, 1.5, 0, 0, 1, 0, 2, 1, 0, 2, 0.75]

describe('errorSums', () => {
  it('is zero, with a cosine of one for each row, for the exact output', () => {
    for (const sums of errorSums(call(EXACT))) {
      const none = {squares: 0, absolutes: 0, largest: 0, notFinite: 0, spread: 0}
      expect(sums).toEqual({
        ...none,
        cosines: 2,
        rowSumDeviations: 0,
        rowsSum: Float64Array.of(0, 0),
      })
    }
  })

  it('agrees with the definitions on a worked example, head by head', () => {
    const [first, second] = errorSums(call(OFF))
    expect(first).toEqual({
      ...{squares: 1, absolutes: 1, largest: 1, notFinite: 0, rowSumDeviations: 0.5},
      ...{cosines: 28 / Math.sqrt(32 * 25) + 1, spread: 0, rowsSum: Float64Array.of(1, 0)},
    })
    // (0, 2) is orthogonal to (1, 0)
    expect(second).toEqual({
      ...{squares: 5, absolutes: 3, largest: 2, notFinite: 0, rowSumDeviations: 0.25},
      ...{cosines: 1, spread: 0, rowsSum: Float64Array.of(-1, 2)},
    })
  })

  it('takes a zero row for unlike a row that is not zero', () => {
    expect(errorSums(call([0, 0, 1, ...EXACT.slice(3)]))[0]!.cosines).toBe(1)
  })

  it('counts entries that are not finite and gives no distance for them', () => {
    const estimate = [3, Number.NaN, 1, 0, Infinity, 1, ...EXACT.slice(6)]
    const [first, second] = errorSums(call(estimate))
    expect(first).toMatchObject({notFinite: 2, largest: Number.NaN, squares: Number.NaN})
    expect(second).toMatchObject({notFinite: 0, largest: 0, squares: 0})
  })

  it('keeps the mean of differences and gives the share of each estimate in their spread', () => {
    const mean = new Float32Array(8)
    const spreads = [EXACT, OFF].map((entries, i) =>
      errorSums(call(entries, {mean, count: i + 1})).map(({spread}) => spread),
    )
    expect([...mean]).toEqual([0.5, 0, 0, 0, -0.5, 1, 0, 0])
    // d = 0, then 1: sum of squared deviations 1/2; (0, -1) and (0, 2): 1/2 + 2
    expect(spreads).toEqual([
      [0, 0],
      [0.5, 2.5],
    ])
  })

  it('adds every so many rows of all heads to a group', () => {
    const group = Float32Array.of(10, 0, 0, 0)
    errorSums(call(OFF, {group, groupStep: 3}))
    expect([...group]).toEqual([11, 0, 0, 0])
    const halves = new Float32Array(4)
    errorSums(call(OFF, {group: halves, groupStep: 2}))
    expect([...halves]).toEqual([1, 0, -1, 2])
  })

  it('leaves the pass to the loop of a backend', () => {
    const answer = errorSums(call(EXACT))
    bringHostLoops({errorSums: () => answer.toReversed()})
    expect(errorSums(call(OFF))).toEqual(answer.toReversed())
  })
})

describe('inner products of pairs', () => {
  const VECTORS = Float32Array.of(1, 2, 3, 4, 5, ...[0, 1, 0, -1, 2], ...[2, 0, 0, 0, 1])

  it('has the product of every pair once, each with those before it', () => {
    expect([...pairProducts(VECTORS, 3)]).toEqual([8, 7, 2])
    expect([...pairProducts(VECTORS, 1)]).toEqual([])
  })

  it('takes the loop of the backend where it has one', () => {
    bringHostLoops({pairProducts: (vectors, count) => Float64Array.of(vectors.length, count)})
    expect([...pairProducts(VECTORS, 3)]).toEqual([15, 3])
  })
})
