import {describe, expect, it} from 'vitest'
import {
  POSITIONS,
  QueryErrors,
} from '../../../../../src/experiments/error-sweep/measure/query-errors.js'

const DIM = 3
const head = (rows: number) => ({rows, valueDim: DIM})

/** Exact rows of norm 2, and estimates whose row i is off by `errors[i]` times that, with sums of weights behind them. */
function outputs(errors: readonly number[]) {
  const exact = new Float64Array(errors.length * DIM)
  const estimate = new Float32Array(errors.length * (DIM + 1)).fill(7)
  errors.forEach((error, row) => {
    exact.set([0, 2, 0], row * DIM)
    estimate.set([2 * error, 2, 0], row * (DIM + 1))
  })
  return {exact, estimate}
}

const errorsOf = (errors: readonly number[], heads: readonly number[], byPosition = false) => {
  const {exact, estimate} = outputs(errors)
  return new QueryErrors(exact, heads.map(head), byPosition).of(estimate)
}

describe('errors of queries', () => {
  it('are relative to the norm of their exact row, whatever its place', () => {
    const errors = Array.from({length: 200}, (_, i) => ((i * 77) % 200) + 1) // 1 to 200
    expect(errorsOf(errors, [80, 120])).toEqual({
      query_error_p50: 100,
      query_error_p90: 180,
      query_error_p99: 198,
      positions: undefined,
    })
  })

  it('count as the largest where they are not finite, and spoil no other quantile', () => {
    const errors = Array.from({length: 20}, () => 0.5).with(3, Number.NaN)
    const {query_error_p50, query_error_p90, query_error_p99} = errorsOf(errors, [20])
    expect([query_error_p50, query_error_p90, query_error_p99]).toEqual([0.5, 0.5, Infinity])
  })

  it('of an exact row of zeros are 0 where the estimate is zero, else infinite', () => {
    const zeros = new QueryErrors(new Float64Array(2 * DIM), [head(2)], false)
    const estimate = new Float32Array(2 * (DIM + 1))
    expect(zeros.of(estimate).query_error_p99).toBe(0)
    estimate[DIM + 1] = 1e-30
    expect(zeros.of(estimate)).toMatchObject({query_error_p50: 0, query_error_p99: Infinity})
  })

  it('by position are medians over the same part of all heads, of any length', () => {
    // the error is the part in which a query lies, from 1
    const part = (at: number, length: number) => Math.floor((POSITIONS * at) / length) + 1
    const lengths = [16, 37]
    const errors = lengths.flatMap(length => Array.from({length}, (_, at) => part(at, length)))
    expect(errorsOf(errors, lengths, true).positions).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
  })

  it('of fewer tokens than parts leave parts without a number', () => {
    const {positions} = errorsOf([0.5, 0.25], [2], true)
    expect(positions!.map(value => (Number.isNaN(value) ? null : value))).toEqual([
      ...[0.5, null, null, null],
      ...[0.25, null, null, null],
    ])
  })

  it('of many queries are those of evenly spaced ones', () => {
    const count = 2 ** 16
    const errors = Array.from({length: count}, (_, i) => (i % 4 === 0 ? i / count : 100))
    const {query_error_p50, query_error_p99} = errorsOf(errors, [count])
    expect(query_error_p50).toMatchReference(0.5, 3)
    expect(query_error_p99).toMatchReference(0.99, 3)
  })
})
