/** The last tokens of a text as the only queries: they see, and are judged by, what they see among all queries. */
import {afterEach, describe, expect, it} from 'vitest'
import {exactTile, rowTotals} from '../../src/attention/internal.js'
import {useBackend} from '../../src/backends/index.js'
import {type CausalView, keysBefore, keysInView} from '../../src/causal-view.js'
import {headOf} from '../../src/experiments/error-sweep/measure/canonical-head.js'
import {computeTruth, yardsticks} from '../../src/experiments/error-sweep/measure/truth.js'
import {RAW_TARGET} from '../../src/experiments/method.js'
import {samplePairs} from '../../src/experiments/variance/sampled-pairs.js'
import {attendedNorms} from '../../src/inputs/attended-norms.js'
import type {AttentionArray, AttentionInput} from '../../src/inputs/attention-input.js'
import {generate} from '../../src/inputs/generators/index.js'
import {partsInView} from '../../src/inputs/masked-tokens.js'
import {inputStatistics, rowEntropies} from '../../src/inputs/statistics.js'
import {exactOutputs, sampledQueries} from '../../src/theory/ratio-error/queries.js'

const [B, H, L, S, D] = [2, 3, 5, 12, 4]
const END: CausalView = {causal: true, causalAlign: 'end'}
const ALL: CausalView = {causal: true}
const logitScale = 0.4

const whole = generate('gaussian', {
  ...{batch: B, heads: H, queryLen: S, keyLen: S, headDim: D, valueDim: 3, seed: 5},
})

/** The last L rows of each head of `[B, H, S, width]`. */
function last<Data extends Float32Array | Float64Array>(all: Data, width: number): number[] {
  return Array.from({length: B * H}, (_, head) => [
    ...all.subarray((head * S + S - L) * width, (head + 1) * S * width),
  ]).flat()
}

const query: AttentionArray = {
  shape: [B, H, L, D],
  data: Float32Array.from(last(whole.query.data, D)),
}
const input: AttentionInput = {...whole, query}

afterEach(() => useBackend('cpu'))

it('queries see the keys up to their own place, and those before the first of them', () => {
  const lengths = {queryLen: 3, keyLen: 5}
  const seen = (view: CausalView) => [0, 1, 2].map(row => keysInView(view, lengths, row))
  expect(seen({causal: true})).toEqual([1, 2, 3])
  expect(seen(END)).toEqual([3, 4, 5])
  expect(seen({causal: false, causalAlign: 'end'})).toEqual([5, 5, 5])
  expect(keysBefore(END, {queryLen: 5, keyLen: 3})).toBe(0)
})

describe.each(['cpu', 'native'] as const)('on %s, of the last queries', backend => {
  it('exact outputs and entropies are those among all queries', async () => {
    await useBackend(backend)
    for (const target of [RAW_TARGET, {...RAW_TARGET, kernel: 'arc-cosine'} as const]) {
      const {truth, entropies} = computeTruth(input, {target, logitScale, ...END})
      const all = computeTruth(whole, {target, logitScale, ...ALL})
      expect([...truth.output]).toEqual(last(all.truth.output, 3))
      expect(entropies && [...entropies]).toEqual(all.entropies && last(all.entropies, 1))
    }
  })

  it('statistics are means over the pairs in view', async () => {
    await useBackend(backend)
    const options = {scale: 1, logitScale, ...END}
    const {perHead} = inputStatistics(input, options)
    const norm2 = (array: AttentionArray, head: number, row: number) => {
      const start = (head * array.shape[2] + row) * D
      return logitScale * array.data.subarray(start, start + D).reduce((sum, x) => sum + x * x, 0)
    }
    for (let head = 0; head < H; head++) {
      const [queries, keys] = [[] as number[], [] as number[]]
      const entropies: number[] = []
      for (const at of [head, H + head]) {
        const rows = Array.from({length: L}, (_, i) => i)
        entropies.push(...rowEntropies(input, at, options, rows))
        for (const i of rows) {
          for (let j = 0; j <= i + S - L; j++) {
            queries.push(norm2(query, at, i))
            keys.push(norm2(whole.key, at, j))
          }
        }
      }
      const mean = (list: number[]) => list.reduce((sum, x) => sum + x, 0) / list.length
      expect(perHead[head]!.query_norm2).toMatchReference(mean(queries), 6)
      expect(perHead[head]!.key_norm2).toMatchReference(mean(keys), 6)
      expect(perHead[head]!.entropy_nats).toMatchReference(mean(entropies), 9)
    }
  })
})

it('weights, averages of values and exact rows of theory are those among all queries', () => {
  const options = {target: RAW_TARGET, logitScale}
  const range = {first: 6, count: 5}
  const tile = (own: AttentionInput, view: CausalView) => {
    const asked = {...options, ...view}
    const totals = rowTotals(own.query, own.key, asked)
    return exactTile(own.query, own.key, asked, totals, range)
  }
  expect([...tile(input, END)]).toEqual(last(tile(whole, ALL), range.count))
  const {truth} = computeTruth(input, {...options, ...END})
  const values = (head: number, row: number) =>
    whole.value.data.subarray((head * S + row) * 3, (head * S + row + 1) * 3)
  const [first] = yardsticks(input, truth.output, END)
  let squares = 0
  for (let i = 0; i < L; i++) {
    const seen = Array.from({length: i + 1 + S - L}, (_, j) => values(0, j))
    for (let d = 0; d < 3; d++) {
      const mean = seen.reduce((sum, row) => sum + row[d]!, 0) / seen.length
      squares += (mean - truth.output[3 * i + d]!) ** 2
    }
  }
  expect([first!.rows, first!.mse]).toEqual([L, expect.closeTo(squares / (3 * L), 12)])
  const head = headOf(input, 1, {logitScale, ...END})
  const rows = exactOutputs(head, sampledQueries(head, L))
  rows.forEach((x, at) => {
    expect(x).toMatchReference(truth.output[3 * L + at]!, 9)
  })
})

it('norms where attention looks are those of what these queries see', () => {
  // the last query alone sees all keys: no causal mask is left
  const only = {...input, query: {shape: [B, H, 1, D], data: lastQueries()} as AttentionArray}
  expect(attendedNorms([only], {logitScale, ...END})).toEqual(
    attendedNorms([only], {logitScale, causal: false}),
  )
})

function lastQueries(): Float32Array {
  const rows = Array.from({length: B * H}, (_, head) => {
    const end = (head + 1) * S * D
    return [...whole.query.data.subarray(end - D, end)]
  })
  return Float32Array.from(rows.flat())
}

it('pairs are drawn from all that is in view', () => {
  const pairs = samplePairs(input, {count: 600, seed: 0, ...END})
  const ahead = pairs.map(({query_index, key_index}) => key_index - query_index)
  expect(Math.max(...ahead)).toBe(S - L)
  expect(Math.min(...ahead)).toBeLessThan(0)
})

it('hidden keys before the first query leave the mask as it is, others do not', () => {
  const masked = (hidden: number) => {
    const keyMask = Uint8Array.from({length: B * S}, (_, at) => Number(at % S !== hidden))
    return {...input, keyMask}
  }
  const [part] = partsInView(masked(0), END)
  expect(part!.key.shape[2]).toBe(S - 1)
  expect(() => [...partsInView(masked(S - 1), END)]).toThrow(/only the first keys hidden/)
})
