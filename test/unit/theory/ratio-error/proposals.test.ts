import {describe, expect, it} from 'vitest'
import {normals, randomStream} from '../../../../src/random/index.js'
import {type ProposalHead, proposalErrors} from '../../../../src/theory/ratio-error/proposals.js'
import {exactOutputs, sampledQueries} from '../../../../src/theory/ratio-error/queries.js'

const [L, S, D, Dv, C, DRAWS] = [5, 7, 3, 2, 3, 4]
const numbers = (name: string, count: number, scale: number) =>
  normals(randomStream(5, name), count).map(entry => scale * entry)

/** Segments of unequal length. */
const segments = (length: number) => [0, 1, 3, length]
const QUERY = numbers('query', L * D, 0.6)

const headOf = (weights: Partial<ProposalHead>): ProposalHead => ({
  // the last token is hidden as a query
  ...{query: QUERY, key: numbers('key', S * D, 0.7)},
  ...{value: Float32Array.from(numbers('value', S * Dv, 1)), headDim: D, valueDim: Dv, segments},
  ...{mis: 'opt', coefficient: 2, floor: 0.01, axis: 'query'},
  ...weights,
})

const rowsOf = (vectors: Float64Array, size: number) =>
  Array.from({length: vectors.length / size}, (_, i) =>
    Array.from(vectors.subarray(i * size, (i + 1) * size)),
  )
const dot = (x: readonly number[], y: readonly number[]) =>
  x.reduce((sum, e, d) => sum + e * y[d]!, 0)
/** Density of N(mu, I) over that of N(0, I). */
const density = (w: number[], mu: number[]) => Math.exp(dot(w, mu) - dot(mu, mu) / 2)
const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0)

/** Means of segments. */
function means(vectors: number[][]): number[][] {
  const starts = segments(vectors.length)
  return Array.from({length: C}, (_, c) => {
    const own = vectors.slice(starts[c]!, starts[c + 1]!)
    return own[0]!.map((_, d) => sum(own.map(vector => vector[d]!)) / own.length)
  })
}

/** Error of one draw by its definition, in plain numbers rather than logarithms. */
function errorByDefinition(head: ProposalHead, noise: number[][], exact: Float64Array): number {
  const queries = rowsOf(head.query, D)
  const tokens = queries
  const [keys, landmarks] = [rowsOf(head.key, D), means(tokens)]
  const centres = means(keys).map((mean, c) => mean.map((e, d) => e + landmarks[c]![d]!))
  const rows = centres.map((mu, c) => mu.map((e, d) => e + noise[c]![d]!))
  const t = (c: number, x: number[]) => {
    const over = head.axis === 'query' ? tokens.map(y => dot(landmarks[c]!, y)) : []
    const others = head.axis === 'proposal' ? landmarks.map(own => dot(own, x)) : over
    return Math.exp(dot(landmarks[c]!, x)) / sum(others.map(Math.exp))
  }
  let error = 0
  queries.forEach((x, i) => {
    const weights = rows.map((w, c) => {
      const keyWeights = keys.map(y => density(w, y))
      const all = sum(centres.map(mu => density(w, mu)))
      const own = density(w, centres[c]!)
      const base = Math.exp(dot(w, x)) * sum(keyWeights)
      if (head.mis === 'bh') return base / all
      if (head.mis === 'biased') return (base / all) * Math.exp(dot(centres[c]!, x))
      const mean = sum(landmarks.map((_, of) => t(of, x))) / C
      return (base / own) * Math.max(head.floor, own / all + head.coefficient * (t(c, x) - mean))
    })
    for (let d = 0; d < Dv; d++) {
      const says = rows.map(w => {
        const keyWeights = keys.map(y => density(w, y))
        return sum(keyWeights.map((own, j) => own * head.value[j * Dv + d]!)) / sum(keyWeights)
      })
      const out = sum(weights.map((own, c) => own * says[c]!)) / sum(weights)
      error += (out - exact[i * Dv + d]!) ** 2
    }
  })
  return error
}

describe('errors of proposals', () => {
  it.each<Partial<ProposalHead>>([
    {mis: 'opt', axis: 'query'},
    {mis: 'opt', axis: 'proposal'},
    {mis: 'opt', coefficient: 0},
    {mis: 'bh'},
    {mis: 'biased'},
  ])('are those of their definition: %o', weights => {
    const head = headOf(weights)
    const queries = sampledQueries({...head, causal: false}, L)
    const exact = exactOutputs({...head, causal: false}, queries)
    const stream = () => randomStream(6, 'noise')
    const errors = proposalErrors(
      head,
      {queries, exact},
      {count: C, draws: DRAWS, stream: stream()},
    )
    const noise = rowsOf(normals(stream(), DRAWS * C * D), D)
    expect(errors).toHaveLength(DRAWS)
    errors.forEach((error, draw) => {
      const wanted = errorByDefinition(head, noise.slice(draw * C, (draw + 1) * C), exact)
      // what rows say is rounded to float32
      const off = 2 ** -23 * Math.max(...head.value.map(Math.abs))
      const bound = 2 * Math.sqrt(L * Dv * wanted) * off + L * Dv * off ** 2
      expect(Math.abs(error - wanted)).toBeLessThan(bound)
    })
  })
})
