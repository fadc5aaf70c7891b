import {describe, expect, it} from 'vitest'
import {normals, randomStream} from '../../../../src/random/index.js'
import {predictError} from '../../../../src/theory/ratio-error/predict.js'
import {exactOutputs, sampledQueries} from '../../../../src/theory/ratio-error/queries.js'
import {drawnErrors} from '../../../../src/theory/ratio-error/simulate.js'
import type {PositiveHead} from '../../../../src/theory/ratio-error/types.js'
import {assertNear, moments} from '../../../helpers/statistics.js'

const [L, S, D, Dv, N] = [5, 7, 3, 2, 16]

function headOf(more: Partial<PositiveHead>, scale = 1): PositiveHead {
  const stream = randomStream(3, 'drawn')
  const vectors = (count: number) => normals(stream, count * D).map(x => scale * x)
  return {
    ...{query: vectors(L), key: vectors(S), value: Float32Array.from(normals(stream, S * Dv))},
    ...{headDim: D, valueDim: Dv, causal: false},
    ...more,
  }
}

/** The features of one vector under one row, as their formula says. */
function phi(head: PositiveHead, w: Float64Array, x: Float64Array, side: 'query' | 'key'): number {
  let sum = 0
  for (let d = 0; d < D; d++) {
    const a = head.exponents?.[d] ?? 0
    const half = side === 'key' && head.longKeysCount ? 0 : x[d]! ** 2 / 2
    sum += a * w[d]! ** 2 + Math.sqrt(1 - 4 * a) * w[d]! * x[d]! - half
  }
  return Math.exp(sum)
}

/** Squared error over all queries of attention with the given rows, by its definition. */
function squaredError(head: PositiveHead, rows: readonly Float64Array[], exact: Float64Array) {
  const all = head.paired ? rows.flatMap(w => [w, w.map(v => -v)]) : rows
  let sum = 0
  for (let i = 0; i < L; i++) {
    const x = head.query.subarray(i * D, (i + 1) * D)
    const keys = head.causal ? i + 1 : S
    const weights = Array.from({length: keys}, (_, m) => {
      const y = head.key.subarray(m * D, (m + 1) * D)
      return all.reduce((of, w) => of + phi(head, w, x, 'query') * phi(head, w, y, 'key'), 0)
    })
    const total = weights.reduce((a, b) => a + b, 0)
    for (let d = 0; d < Dv; d++) {
      const out = weights.reduce(
        (of, weight, m) => of + (weight / total) * head.value[m * Dv + d]!,
        0,
      )
      sum += (out - exact[i * Dv + d]!) ** 2
    }
  }
  return sum
}

describe('errors of draws', () => {
  it.each<[string, Partial<PositiveHead>]>([
    ['all keys', {}],
    ['causal', {causal: true}],
    ['pairs w and -w', {paired: true}],
    ['exponents', {exponents: Float64Array.of(-0.4, 0.05, -1)}],
    ['long keys', {longKeysCount: true}],
    ['causal pairs', {causal: true, paired: true}],
  ])('are those of attention with the same rows, at every M: %s', (_, more) => {
    const head = headOf(more)
    const rows = normals(randomStream(4, 'rows'), N * D)
    const queries = sampledQueries(head, L)
    const exact = exactOutputs(head, queries)
    const numFeatures = [4, 8, 16]
    const got = drawnErrors(head, {queries, exact}, {rows, numFeatures})
    numFeatures.forEach((M, k) => {
      expect(got[k]!.length).toBe(N / M)
      got[k]!.forEach((error, draw) => {
        const own = Array.from({length: M}, (_, row) =>
          rows.subarray((draw * M + row) * D).subarray(0, D),
        )
        const expected = squaredError(head, own, exact)
        // exponents up to 30, sums of 16 rows and 7 keys, of values up to 3: differences of outputs, squared
        const rounding = 2 ** -52 * (30 + 16 + 7) * 3
        expect(Math.abs(error - expected)).toBeLessThan(2 * L * Dv * 6 * rounding)
      })
    })
  })

  it('have the mean that the integral says', () => {
    const head = headOf({})
    const [draws, M] = [2048, 8]
    const queries = sampledQueries(head, L)
    const exact = exactOutputs(head, queries)
    const rows = normals(randomStream(5, 'rows'), draws * M * D)
    const [errors] = drawnErrors(head, {queries, exact}, {rows, numFeatures: [M]})
    const drawn = moments(Array.from(errors!, error => error / L))
    const theory = moments(
      Array.from({length: 16}, (_, seed) => predictError(head, [M], {queries: L, seed})[0]!),
    )
    const noise = Math.hypot(drawn.standardError, theory.standardError)
    // the sum over steps of ln u is within 2.2 % of the integral
    assertNear('mean of draws', drawn.mean, theory.mean, noise, 0.022 * theory.mean)
  })
})
