import {beforeEach, describe, expect, test} from 'vitest'
import {bringHostLoops, type SoftmaxRowsCall} from '../../../src/host-loops.js'
import type {AttentionArray} from '../../../src/inputs/attention-input.js'
import {generate} from '../../../src/inputs/generators/index.js'
import {loadInput} from '../../../src/inputs/load.js'
import type {InputStatistics} from '../../../src/inputs/statistics.js'
import {evenlySpaced, inputStatistics, rowEntropies} from '../../../src/inputs/statistics.js'

// not the loops of a backend that another file has in use
beforeEach(() => bringHostLoops({}))

const shape = {batch: 2, heads: 3, queryLen: 17, keyLen: 17, headDim: 7, valueDim: 5, seed: 11}

interface Case {
  queryLen: number
  keyLen: number
  causal: boolean
}

const CASES: Case[] = [true, false].flatMap(causal => [
  {queryLen: 17, keyLen: 17, causal},
  {queryLen: 17, keyLen: 11, causal},
  {queryLen: 11, keyLen: 17, causal},
  {queryLen: 1, keyLen: 1, causal},
])
const title = ({queryLen, keyLen, causal}: Case) =>
  `B2-H3-L${queryLen}-S${keyLen}-D7${causal ? ' causal' : ''}`

/** The statistics by their definition: a loop over all pairs in view. */
function byDefinition(
  query: AttentionArray,
  key: AttentionArray,
  head: number,
  factor: number,
  causal: boolean,
): InputStatistics {
  const [, , queryLen, dim] = query.shape
  const keyLen = key.shape[2]
  const at = (array: AttentionArray, row: number, d: number) =>
    factor * array.data[(head * array.shape[2] + row) * dim + d]!
  const sums = {query: 0, key: 0, sum: 0, difference: 0, entropy: 0, maximum: 0, pairs: 0}
  for (let i = 0; i < queryLen; i++) {
    const weights: number[] = []
    for (let j = 0; j < keyLen && (!causal || j <= i); j++) {
      let logit = 0
      for (let d = 0; d < dim; d++) {
        const [x, y] = [at(query, i, d), at(key, j, d)]
        sums.query += x * x
        sums.key += y * y
        sums.sum += (x + y) ** 2
        sums.difference += (x - y) ** 2
        logit += x * y
      }
      weights.push(Math.exp(logit))
      sums.pairs++
    }
    const total = weights.reduce((a, b) => a + b)
    sums.entropy -= weights.reduce((a, w) => a + (w / total) * Math.log(w / total), 0)
    sums.maximum += Math.log(weights.length)
  }
  return {
    query_norm2: sums.query / sums.pairs,
    key_norm2: sums.key / sums.pairs,
    sum_norm2: sums.sum / sums.pairs,
    difference_norm2: sums.difference / sums.pairs,
    entropy_nats: sums.entropy / queryLen,
    max_entropy_nats: sums.maximum / queryLen,
  }
}

const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length

/**
 * Rounding bound of two float64 sums of n terms: each is off by at most n units of 2^-53 times the
 * sum of magnitudes, which for norms is at most 2 (|x|^2 + |y|^2), and for entropies (below ln S <
 * 3, logits below 10 in magnitude, through exp and log) at most 10 times 3.
 */
function close(actual: InputStatistics, wanted: InputStatistics, terms: number): void {
  const norms = 2 * (wanted.query_norm2 + wanted.key_norm2)
  for (const [field, value] of Object.entries(wanted)) {
    const magnitude = field.endsWith('nats') ? 30 : norms
    const difference = Math.abs(actual[field as keyof InputStatistics] - value)
    expect(difference, field).toBeLessThanOrEqual(2 * terms * 2 ** -53 * magnitude)
  }
}

describe('inputStatistics', () => {
  test.each(CASES.map(c => [title(c), c] as const))(
    '%s: equal to the definition over all pairs in view',
    (_, {queryLen, keyLen, causal}) => {
      const input = generate('gaussian', {...shape, queryLen, keyLen})
      const options = {scale: 1.3, logitScale: 0.4, causal}
      const {overall, perHead} = inputStatistics(input, options)
      const factor = 1.3 * Math.sqrt(0.4)
      const terms = queryLen * keyLen * 7 * 6
      const wanted = Array.from({length: 6}, (_, head) =>
        byDefinition(input.query, input.key, head, factor, causal),
      )
      expect(perHead.length).toBe(3)
      for (let h = 0; h < 3; h++) close(perHead[h]!, meanOf([wanted[h]!, wanted[h + 3]!]), terms)
      close(overall, meanOf(wanted), terms)
    },
  )

  function meanOf(records: InputStatistics[]): InputStatistics {
    const fields = Object.keys(records[0]!) as (keyof InputStatistics)[]
    return Object.fromEntries(
      fields.map(field => [field, mean(records.map(record => record[field]))]),
    ) as unknown as InputStatistics
  }

  test('equal keys give the largest entropy, far-apart logits none, without overflow', () => {
    const one = (data: number[], length: number): AttentionArray => ({
      shape: [1, 1, length, 1],
      data: Float32Array.from(data),
    })
    const options = {scale: 1, logitScale: 1, causal: false}
    const flat = inputStatistics({query: one([3], 1), key: one([2, 2, 2, 2, 2], 5)}, options)
    expect(flat.overall.entropy_nats).toBe(Math.log(5))
    expect(flat.overall.max_entropy_nats).toBe(Math.log(5))
    const sharp = inputStatistics({query: one([1e6], 1), key: one([1e6, -1e6], 2)}, options)
    expect(sharp.overall.entropy_nats).toBe(0)
  })

  test('an entropy over budget is that of evenly spaced rows, norms stay exact', () => {
    const input = generate('ar1', {...shape, queryLen: 101, keyLen: 101})
    const options = {scale: 1, logitScale: 1 / Math.sqrt(7), causal: true}
    const exact = inputStatistics(input, options)
    const estimated = inputStatistics(input, options, {budget: 1})
    const rows = evenlySpaced(101, 32)
    expect(rows.length).toBe(32)
    for (let h = 0; h < 3; h++) {
      const ofRows = [h, h + 3].map(head => mean([...rowEntropies(input, head, options, rows)]))
      expect(estimated.perHead[h]!.entropy_nats).toBe(mean(ofRows))
      expect(estimated.perHead[h]!.query_norm2).toBe(exact.perHead[h]!.query_norm2)
      expect(estimated.perHead[h]!.sum_norm2).toBe(exact.perHead[h]!.sum_norm2)
    }
    const maxima = rows.map(row => Math.log(row + 1))
    expect(estimated.overall.max_entropy_nats).toBe(mean(maxima))
  })

  const causal = {scale: 1, logitScale: 1 / Math.sqrt(7), causal: true}

  test('takes entropies that are known, of every row', () => {
    const input = generate('gaussian', shape)
    const entropies = Float64Array.from({length: 6 * 17}, (_, i) => i)
    const {perHead} = inputStatistics(input, causal, {entropies, budget: 1})
    // heads h and h + 3: rows 17 h to 17 h + 16, and those 51 further on
    expect(perHead.map(head => head.entropy_nats)).toEqual([33.5, 50.5, 67.5])
    const plain = inputStatistics(input, causal)
    expect(perHead[0]).toEqual({...plain.perHead[0], entropy_nats: 33.5})
  })

  test('leaves the entropies of all rows to the loop of a backend, whatever they take', () => {
    const input = generate('gaussian', shape)
    const plain = inputStatistics(input, causal)
    const calls: SoftmaxRowsCall[] = []
    bringHostLoops({
      softmaxRows(call) {
        calls.push(call)
        call.entropy!.fill(calls.length)
      },
    })
    const {perHead} = inputStatistics(input, causal, {budget: 1})
    // head 0 of either batch element, then head 1, ..
    expect(perHead.map(head => head.entropy_nats)).toEqual([1.5, 3.5, 5.5])
    expect(perHead[0]!.max_entropy_nats).toBe(plain.perHead[0]!.max_entropy_nats)
    expect(calls[1]).toMatchObject({headDim: 7, causal: true, out: undefined})
    const [x, y] = [input.query, input.key].map(({data}) => data[3 * 17 * 7])
    expect([calls[1]!.query[0], calls[1]!.key[0]]).toEqual([x, y])
    expect(calls[1]!.scale).toBe(Math.sqrt(causal.logitScale) * causal.scale)
  })

  test.each([
    {scale: 0, logitScale: 1},
    {scale: -1, logitScale: 1},
    {scale: 1, logitScale: NaN},
    {scale: Infinity, logitScale: 1},
  ])('refuses scale $scale and logitScale $logitScale', options => {
    const input = generate('gaussian', shape)
    expect(() => inputStatistics(input, {...options, causal: false})).toThrow(
      expect.objectContaining({
        code: 'BAD_OPTION',
        message: expect.stringMatching(
          /^input statistics, (scale|logitScale): expected a positive/,
        ),
      }),
    )
  })
})

describe('evenlySpaced', () => {
  test.each([
    [7, 7, [0, 1, 2, 3, 4, 5, 6]],
    [7, 100, [0, 1, 2, 3, 4, 5, 6]],
    [9, 3, [1, 4, 7]],
    [10, 1, [5]],
    [10, 0.1, [5]],
    [5, 2.9, [1, 3]],
  ])('of length %i, %d wanted', (length, wanted, rows) => {
    expect(evenlySpaced(length, wanted)).toEqual(rows)
  })
})

// The published table of the two layers, per head: mean squared norms of canonical queries and keys
// over the positions (one decimal), and entropy of the causal rows from position 256 on (two
// decimals).
describe.each([
  {
    layer: 0,
    query: [4.8, 3.7, 3.2, 7.7],
    key: [4.2, 2.7, 1.6, 6.3],
    entropy: [5.64, 5.8, 5.79, 5.37],
  },
  {
    layer: 3,
    query: [12.6, 20.6, 17.4, 17.0],
    key: [15.0, 27.9, 25.7, 24.5],
    entropy: [1.81, 1.93, 2.28, 2.52],
  },
])('layer $layer of the character model', ({layer, query, key, entropy}) => {
  const load = () =>
    loadInput(
      {
        kind: 'file',
        paths: [`fixtures/charlm-layer${layer}.safetensors`],
        names: {query: 'q', key: 'k', value: 'v'},
      },
      {seqLen: null, seed: 0},
    )
  const options = {scale: 1, logitScale: 1 / Math.sqrt(64)}

  test('has the published norms, to their printed digits', async () => {
    const {perHead} = inputStatistics(await load(), {...options, causal: false})
    for (const [h, record] of perHead.entries()) {
      expect(Math.abs(record.query_norm2 - query[h]!), `head ${h}`).toBeLessThanOrEqual(0.05)
      expect(Math.abs(record.key_norm2 - key[h]!), `head ${h}`).toBeLessThanOrEqual(0.05)
    }
  })

  test('has the published entropies, to their printed digits', async () => {
    const input = await load()
    const rows = Array.from({length: 256}, (_, i) => 256 + i)
    for (const [h, printed] of entropy.entries()) {
      const rowsOfHead = rowEntropies(input, h, {...options, causal: true}, rows)
      expect(Math.abs(mean([...rowsOfHead]) - printed), `head ${h}`).toBeLessThanOrEqual(0.005)
    }
  })
})
