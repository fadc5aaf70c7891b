import {describe, expect, it} from 'vitest'
import type {ComparedLine} from '../../../../../../src/experiments/comparison.js'
import {errorSweepComparison} from '../../../../../../src/experiments/error-sweep/report/errors/comparison.js'
import type {
  CompletedSweep,
  ErrorSweepCell,
} from '../../../../../../src/experiments/error-sweep/schema.js'
import {logRatios, median, pairedRatio, welchTest} from '../../../../../../src/stats/index.js'
import {
  deterministic,
  metric,
  NO_METRICS,
  ranged,
  sweep,
} from '../../../../../helpers/records/error-sweep.js'

const {between, measured} = errorSweepComparison

/** A cell whose replicates have these errors. */
function drawn(errors: (number | null)[], cell: Partial<ErrorSweepCell> = {}): CompletedSweep {
  const metrics = {...NO_METRICS, rel_l2: errors}
  const finite = errors.filter(error => error !== null)
  return sweep(cell, {replicate_metrics: metrics, rel_l2: metric(median(finite))})
}

const fixed = (error: number) => {
  const {result} = drawn([error])
  return deterministic('elu', {
    ...result,
    mse_standard_error: 0,
    rel_l2: ranged(error, error, error),
  })
}

const A = [0.2, 0.25, 0.22, 0.3, 0.27, 0.21, 0.26]
const B = A.map((error, at) => error * [1.1, 1.2, 1.15, 1.3, 1.05, 1.18, 1.22][at]!)

const one = (a: CompletedSweep, b: CompletedSweep, related: 'runs' | 'methods' = 'runs') =>
  between(related, [a, b]).lines(a, b)[0] as ComparedLine & {reason?: string; settled?: boolean}

describe('errorSweepComparison', () => {
  it('pairs replicates of one seed', () => {
    const ratio = pairedRatio(B, A)
    const line = one(drawn(A), drawn(B))
    expect(line).toMatchObject({basis: 'pairs', pairs: 7, ratio, effect: 1})
    expect(line.differences).toEqual(logRatios(B, A))
    expect(line.pValue).toBeNaN()
    expect(one(drawn(A), drawn([...B, 9])).ratio).toEqual(ratio)
  })

  it('takes replicates of different seeds for independent', () => {
    const line = one(drawn(A), drawn(B, {seed: 3}))
    const logs = (errors: number[], times = 1) => errors.map(error => Math.log(times * error))
    const {estimate} = welchTest(logs(B), logs(A))
    // a difference of 1 % is none
    expect(line.pValue).toMatchReference(welchTest(logs(B, 1 / 1.01), logs(A)).pValue, 12)
    expect(line.basis).toBe('samples')
    expect(one(drawn(A), drawn(logs(A, 1.005).map(Math.exp), {seed: 3})).pValue).toBe(1)
    expect(line.ratio.low).toMatchReference(Math.exp(estimate.low), 12)
  })

  it('finds the same errors the same, to rounding', () => {
    expect(one(drawn(A), drawn(A)).ratio).toEqual({value: 1, low: 1, high: 1})
    // rounding of L = 31, D = 17: 2 (31 + 17) 2^-24 = 5.7e-6
    const near = one(drawn(A), drawn(A.map(error => error + 5e-6)))
    expect(near.basis).toBe('exact')
    expect(near.ratio.low).toBeLessThan(1)
    expect(one(drawn(A), drawn(A.map(error => error + 7e-6))).basis).toBe('pairs')
  })

  it('needs no draws where nothing is drawn', () => {
    const line = one(fixed(0.2), fixed(0.3))
    expect(line).toMatchObject({basis: 'exact', pValue: Number.NaN})
    expect(line.ratio.low).toBeGreaterThan(1.499)
    // beside draws the one value stands in each pair
    expect(one(fixed(0.2), drawn(B), 'methods')).toMatchObject({basis: 'pairs', pairs: 7})
  })

  it('leaves out what is no number to compare', () => {
    expect(one(drawn([...A, null]), drawn(B)).reason).toBe('an estimate is not finite')
    expect(one(drawn([...A, 0]), drawn(B)).reason).toBe('a replicate without error has no ratio')
    expect(one(fixed(1e-7), fixed(3e-7))).toMatchObject({settled: true})
    expect(one(fixed(1e-7), fixed(0.1)).basis).toBe('exact')
    const matched = drawn(B)
    matched.result.target_label = 'another'
    expect(one(drawn(A), matched, 'methods').reason).toMatch(/different targets: softmax; another/)
    expect(one(drawn(A), matched).reason).toBeUndefined()
  })

  it('refuses generated inputs of two seeds', () => {
    const size = {batch: 1, heads: 2, head_dim: 17, value_dim: 13, key_len: null}
    const input = {kind: 'generator', name: 'gaussian', ...size} as const
    expect(one(drawn(A, {input}), drawn(B, {input, seed: 1})).reason).toMatch(/are other inputs/)
    expect(one(drawn(A, {input}), drawn(B, {input})).reason).toBeUndefined()
  })

  it('falls back to medians of records without replicates', () => {
    const medians = (value: number) => sweep({}, {rel_l2: metric(value, value / 1.1, value * 1.1)})
    const line = one(medians(0.2), medians(0.3))
    expect(line).toMatchObject({basis: 'medians', pValue: Number.NaN})
    expect(line.ratio.low).toMatchReference(1.5 / Math.exp(Math.SQRT2 * Math.log(1.1)), 12)
  })

  it('knows a file by its content', () => {
    const {cell} = sweep()
    const file = cell.input as Extract<typeof cell.input, {kind: 'file'}>
    const at = (path: string, digest?: string) =>
      measured({...cell, input: {...file, paths: [path], ...(digest && {digest})}})
    expect(at('a', 'x')).toEqual(at('b', 'x'))
    expect(at('a', 'x')).not.toEqual(at('a', 'y'))
    expect(at('a')).not.toEqual(at('b'))
  })
})
