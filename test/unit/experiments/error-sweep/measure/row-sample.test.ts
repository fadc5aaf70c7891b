import {beforeAll, describe, expect, it} from 'vitest'
import {attend} from '../../../../../src/attention/index.js'
import {type ExactOptions, exactRows, hostData} from '../../../../../src/attention/internal.js'
import {useBackend} from '../../../../../src/backends/index.js'
import {Calls} from '../../../../../src/experiments/error-sweep/measure/batched-replicates.js'
import {
  ExactRows,
  RowDistances,
} from '../../../../../src/experiments/error-sweep/measure/row-distances.js'
import {
  RowSample,
  sampleBytes,
  sampledRows,
} from '../../../../../src/experiments/error-sweep/measure/row-sample.js'
import {RowTiles} from '../../../../../src/experiments/error-sweep/measure/row-tiles.js'
import {RAW_TARGET} from '../../../../../src/experiments/method.js'
import type {AttentionInput} from '../../../../../src/inputs/attention-input.js'
import {tf} from '../../../../../src/tf.js'
import {hostNormals} from '../../../../helpers/arrays.js'

beforeAll(() => useBackend('cpu'))

const [B, H, L, D, DV] = [2, 3, 19, 7, 5]
const drawn = (name: string, length: number, dim: number) =>
  hostNormals(name, [B, H, length, dim]) as AttentionInput['query']
const inputOf = (keyLen: number, mask = {}): AttentionInput => ({
  label: 'test',
  extras: new Map(),
  metadata: {},
  query: drawn('q', L, D),
  key: drawn('k', keyLen, D),
  value: drawn('v', keyLen, DV),
  ...mask,
})

const exactOf = (causal: boolean): ExactOptions => ({
  target: RAW_TARGET,
  logitScale: D ** -0.5,
  causal,
})
const OPTIONS = {method: 'favor-pos', numFeatures: 11, seed: 1, scale: D ** -0.5} as const

/** What favor-pos makes of the identity: its weights, `[B, H, L, S]`. */
function estimatedWeights(input: AttentionInput, causal: boolean): Float32Array {
  const keyLen = input.key.shape[2]
  const calls = new Calls(input)
  const {query, key, keyMask} = calls.tensors(1)
  const {out} = hostData(() => {
    const identity = tf.tile(tf.reshape(tf.eye(keyLen), [1, 1, keyLen, keyLen]), [B, H, 1, 1])
    return {out: attend(query, key, identity, {...OPTIONS, causal, ...(keyMask && {keyMask})}).out}
  })
  calls.dispose()
  return out as Float32Array
}

/** The rows of a choice. @param weights - `[B, H, L, S]` */
function chosen(weights: Float32Array, sample: RowSample): Float32Array {
  const {places, count} = sample.choice(1)
  const keyLen = weights.length / (B * H * L)
  const rows = new Float32Array(places.length * keyLen)
  places.forEach((place, at) => {
    const from = (Math.floor(at / count) * L + place) * keyLen
    rows.set(weights.subarray(from, from + keyLen), at * keyLen)
  })
  return rows
}

// the first and every fifth token hidden, other ones in either sequence, but as many
const MASK = Float32Array.from({length: B * L}, (_, at) => {
  const [place, sequence] = [at % L, Math.floor(at / L)]
  return place === 0 || place % 5 === 3 - sequence ? 0 : 1
})

describe('a sample of all queries', () => {
  it.each([
    ['all keys', false, inputOf(L)],
    ['the past', true, inputOf(L)],
    ['other keys', false, inputOf(23)],
    ['masked keys', false, inputOf(L, {keyMask: MASK})],
    ['masked keys of the past', true, inputOf(L, {keyMask: MASK})],
  ])('has the metrics of all rows, to the bit, without an error: %s', (_, causal, input) => {
    const exact = exactOf(causal)
    const calls = new Calls(input)
    const tensors = calls.tensors(1)
    const {keyMask} = tensors
    const call = {...OPTIONS, causal, ...(keyMask && {keyMask})}
    const [whole] = new RowTiles({input, exact}).metricsOf(tensors, [call])
    calls.dispose()
    const sample = new RowSample({input, exact, queries: B * H * L, seed: 3})
    expect(sample.rows).toBe(sample.of)
    const {errors, ...own} = sample.metricsOf(chosen(estimatedWeights(input, causal), sample))
    expect(own).toEqual(whole)
    expect(new Set(Object.values(errors))).toEqual(new Set([0]))
  })
})

describe('a sample of some queries', () => {
  it('has as many of each head, ascending, none twice, and others by another seed', () => {
    const input = inputOf(L)
    const sampled = (seed: number, queries = 20) =>
      new RowSample({input, exact: exactOf(false), queries, seed})
    const {places, count} = sampled(3).choice(1)
    expect(count).toBe(4) // 20 over six heads
    expect(places).toHaveLength(B * H * 4)
    for (let head = 0; head < B * H; head++) {
      const own = [...places.subarray(head * count, (head + 1) * count)]
      expect(own).toEqual([...new Set(own)].sort((a, b) => a - b))
      expect(own.every(place => place >= 0 && place < L)).toBe(true)
    }
    expect(sampled(3).choice(1).places).toEqual(places)
    expect(sampled(4).choice(1).places).not.toEqual(places)
    expect(sampled(3).choice(2).places).toEqual(Int32Array.from([...places, ...places]))
    expect(sampled(3, 1).choice(1).count).toBe(2) // one would have no spread
    expect(sampledRows({batch: B, heads: H, queryLen: L}, 20)).toBe(24)
  })

  it('takes none of the hidden queries', () => {
    const sample = new RowSample({
      input: inputOf(L, {keyMask: MASK}),
      exact: exactOf(false),
      queries: 60,
      seed: 3,
    })
    const {places, count} = sample.choice(1)
    places.forEach((place, at) => {
      expect(MASK[Math.floor(at / (H * count)) * L + place]).toBe(1)
    })
    expect(sample.of).toBe(H * MASK.reduce((sum, x) => sum + x, 0))
  })

  it('estimates the mean over all rows without bias, and says how far it is off', () => {
    const input = inputOf(L)
    const exact = exactOf(false)
    const weights = estimatedWeights(input, false)
    const {variance, mean} = population(input, weights, 4)
    const SEEDS = 400
    const found = Array.from({length: SEEDS}, (_, seed) => {
      const sample = new RowSample({input, exact, queries: 24, seed})
      return sample.metricsOf(chosen(weights, sample))
    })
    const average = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length
    // 4.4 standard errors of either mean: once in a hundred thousand
    const estimates = found.map(own => own.row_total_variation)
    expect(Math.abs(average(estimates) - mean)).toBeLessThan(4.4 * Math.sqrt(variance / SEEDS))
    const squares = found.map(({errors}) => errors.row_total_variation ** 2)
    const spread = average(squares.map(own => (own - average(squares)) ** 2))
    expect(Math.abs(average(squares) - variance)).toBeLessThan(4.4 * Math.sqrt(spread / SEEDS))
    // 1.96 of them hold the mean as often as Student's t of 6 (4 - 1) degrees is within 1.96: in 93.4 % of samples, and of
    // 400 samples in 4.4 x 1.24 % more or less
    const held = found.filter(
      own => Math.abs(own.row_total_variation - mean) <= 1.96 * own.errors.row_total_variation,
    )
    expect(Math.abs(held.length / SEEDS - 0.934)).toBeLessThan(4.4 * 0.0124)
  })

  it('counts rows of infinite divergence, and leaves them out of the mean', () => {
    const input = inputOf(L)
    const sample = new RowSample({input, exact: exactOf(false), queries: 24, seed: 3})
    const rows = chosen(estimatedWeights(input, false), sample)
    rows[5] = -1
    const {row_kl_infinite_pct, row_kl_nats, errors} = sample.metricsOf(rows)
    expect(row_kl_infinite_pct).toBe(100 / 24)
    expect(row_kl_nats).toBeGreaterThan(0)
    expect(errors.row_kl_nats).toBeGreaterThan(0)
  })

  it('holds little, whatever the length', () => {
    const shape = {batch: 1, heads: 12, queryLen: 16_384, keyLen: 16_384, headDim: 64, valueDim: 64}
    expect(sampleBytes(shape, 64)).toBeLessThan(2 ** 24)
  })
})

/** Mean of the total variation over all rows, and the variance of a mean over `count` rows of each head (Cochran, 5.3). */
function population(input: AttentionInput, weights: Float32Array, count: number) {
  const all = Int32Array.from({length: B * H * L}, (_, at) => at % L)
  const exact = exactRows(input.query, input.key, exactOf(false), all)
  const distances = new RowDistances(B * H * L)
  const largest = new ExactRows(B * H * L)
  largest.add(exact, L, 0)
  distances.add(weights, exact, L, 0)
  const values = distances.values(largest).row_total_variation
  const meanOf = (own: Float64Array) => own.reduce((a, b) => a + b, 0) / own.length
  let variance = 0
  for (let head = 0; head < B * H; head++) {
    const own = values.subarray(head * L, (head + 1) * L)
    const mean = meanOf(own)
    const spread = own.reduce((sum, x) => sum + (x - mean) ** 2, 0) / (L - 1)
    variance += ((spread / count) * (1 - count / L)) / (B * H) ** 2
  }
  return {mean: meanOf(values), variance}
}
