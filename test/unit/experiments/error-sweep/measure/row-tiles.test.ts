import {beforeAll, describe, expect, it} from 'vitest'
import {type attend, forEachExactRow} from '../../../../../src/attention/index.js'
import {type ExactOptions, exactTile, rowTotals} from '../../../../../src/attention/internal.js'
import {useBackend} from '../../../../../src/backends/index.js'
import {Calls} from '../../../../../src/experiments/error-sweep/measure/batched-replicates.js'
import {
  RowTiles,
  rowMetricBytes,
  tileKeys,
} from '../../../../../src/experiments/error-sweep/measure/row-tiles.js'
import {matchedTarget, RAW_TARGET, resolveMethod} from '../../../../../src/experiments/method.js'
import type {AttentionInput} from '../../../../../src/inputs/attention-input.js'
import {hostNormals} from '../../../../helpers/arrays.js'
import {method} from '../../../../helpers/plans.js'

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

describe('exact weights of some keys', () => {
  it.each([
    ['softmax', false],
    ['softmax', true],
    ['rfa-arccos', false],
    ['favor-relu', true],
    ['reformer', false],
  ])('are columns of whole rows: %s, causal %s', async (name, causal) => {
    const {query, key} = inputOf(L)
    const target = matchedTarget(await resolveMethod(method(name))) ?? RAW_TARGET
    const options: ExactOptions = {target, logitScale: D ** -0.5, causal}
    const whole = new Float64Array(B * H * L * L)
    forEachExactRow(query, key, options, (row, head, weights) => {
      whole.set(weights, (head * L + row) * L)
    })
    const totals = rowTotals(query, key, options)
    for (let first = 0; first < L; first += 6) {
      const count = Math.min(6, L - first)
      const tile = exactTile(query, key, options, totals, {first, count})
      const columns = whole.filter((_, at) => at % L >= first && at % L < first + count)
      expect(tile).toEqual(columns) // the same operations on each entry
    }
  })
})

describe('row metrics by tiles', () => {
  const MASK = Float32Array.from({length: B * L}, (_, at) => (at % 5 === 3 || at === 0 ? 0 : 1))

  it.each([
    ['all keys', false, inputOf(L)],
    ['the past', true, inputOf(L)],
    ['other keys', false, inputOf(23)],
    ['masked keys', false, inputOf(L, {keyMask: MASK})],
    ['masked keys of the past', true, inputOf(L, {keyMask: MASK})],
  ])('are those of all keys at once: %s', (_, causal, input) => {
    const exact = {target: RAW_TARGET, logitScale: D ** -0.5, causal}
    const calls = new Calls(input)
    const tensors = calls.tensors(1)
    const {keyMask} = tensors
    const options = [0, 1].map(replicate => ({
      ...{method: 'favor-pos', numFeatures: 11, seed: 1, replicate, causal},
      ...{scale: D ** -0.5, ...(keyMask && {keyMask})},
    })) as Parameters<typeof attend>[3][]
    const whole = new RowTiles({input, exact}).metricsOf(tensors, options)
    const tiled = new RowTiles({input, exact, tile: 4}).metricsOf(tensors, options)
    calls.dispose()
    expect(whole).toHaveLength(2)
    expect(whole[0]).not.toEqual(whole[1])
    whole.forEach((own, at) => {
      expect(own.row_kl_nats).toBeGreaterThan(0)
      for (const [name, value] of Object.entries(own)) {
        // weights come of float32 sums over 23 keys and 11 features, in an order that may depend on the width of values
        const other = tiled[at]![name as keyof typeof own]
        expect(Math.abs(other - value), name).toBeLessThanOrEqual(2 * 34 * 2 ** -24 * (1 + value))
      }
    })
  })

  it('hold tiles of a bounded size, whatever the length', () => {
    const shape = {batch: 1, heads: 12, queryLen: 16_384, keyLen: 16_384, headDim: 64, valueDim: 64}
    expect(tileKeys({...shape, queryLen: 512, keyLen: 512})).toBe(512)
    expect(tileKeys(shape)).toBe(42)
    expect(rowMetricBytes(shape, 20)).toBeLessThan(2 ** 28) // a matrix of doubles would take 26e9
  })
})
