/** Keys and values of fewer heads than queries. */
import * as tf from '@tensorflow/tfjs-core'
import {beforeAll, describe, expect, it} from 'vitest'
import {attend} from '../../../../../src/attention/index.js'
import {estimatorNamed, loadEstimators, METHOD_NAMES} from '../../../../../src/attention/names.js'
import {useBackend} from '../../../../../src/backends/index.js'
import {decoderFor} from '../../../../../src/check/calls/decode.js'
import {layerBytes, layerFlops} from '../../../../../src/experiments/bench/cost/layer-costs.js'
import {whyNoPeer} from '../../../../../src/experiments/bench/fields/peers.js'
import {runBenchCell} from '../../../../../src/experiments/bench/measure/cell.js'
import {groupedDecoder} from '../../../../../src/experiments/bench/measure/grouped-decoder.js'
import {benchArrays} from '../../../../../src/experiments/bench/measure/inputs.js'
import {layerForward, makeLayer} from '../../../../../src/experiments/bench/measure/layer.js'
import {benchComparison} from '../../../../../src/experiments/bench/report/comparison.js'
import {benchFigures} from '../../../../../src/experiments/bench/report/figures/figures.js'
import {benchFits} from '../../../../../src/experiments/bench/report/figures/fits.js'
import {shapesOf} from '../../../../../src/experiments/bench/report/lines/variants.js'
import {benchReport} from '../../../../../src/experiments/bench/report/report.js'
import {
  type BenchCell,
  type BenchPlan,
  benchCell,
  benchPlan,
  benchResult,
} from '../../../../../src/experiments/bench/schema.js'
import type {PredictedCell} from '../../../../../src/experiments/experiment.js'
import {repeatedHeads} from '../../../../../src/inputs/grouped-heads.js'
import {repeatHeads} from '../../../../../src/model/repeat-heads.js'
import {renderTerminal} from '../../../../../src/report/terminal.js'
import {hostNormals} from '../../../../helpers/arrays.js'
import {runnableBackends} from '../../../../helpers/backends.js'
import {benchCells, benchJobs} from '../../../../helpers/cells.js'
import {bench, method} from '../../../../helpers/plans.js'
import {decoded, timed} from '../../../../helpers/records/bench.js'

await loadEstimators()

const [B, H, HKV, L, D, DV] = [2, 6, 2, 11, 7, 5]
/** Bytes of an entry. */
const FLOAT = 4

type Shape = [number, number, number, number]
const floats = (name: string, shape: Shape) => Float32Array.from(hostNormals(name, shape).data)
const QUERY: Shape = [B, H, L, D]
const KEY: Shape = [B, HKV, L, D]
const VALUE: Shape = [B, HKV, L, DV]
const arrays = {
  query: floats('query', QUERY),
  key: floats('key', KEY),
  value: floats('value', VALUE),
}
const tensors = () =>
  [
    tf.tensor4d(arrays.query, QUERY),
    tf.tensor4d(arrays.key, KEY),
    tf.tensor4d(arrays.value, VALUE),
  ] as const

/** Attention of query head h to key head floor(h / (H / Hkv)), in doubles. */
function groupedAttention(batch: number, h: number, i: number): number[] {
  const shared = batch * HKV + Math.floor(h / (H / HKV))
  const row = (data: Float32Array, head: number, at: number, dim: number) =>
    Array.from(data.subarray((head * L + at) * dim, (head * L + at + 1) * dim))
  const query = row(arrays.query, batch * H + h, i, D)
  const weights = Array.from({length: L}, (_, j) => {
    const key = row(arrays.key, shared, j, D)
    return Math.exp(query.reduce((sum, x, d) => sum + x * key[d]!, 0) / Math.sqrt(D))
  })
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  return Array.from({length: DV}, (_, d) =>
    weights.reduce((sum, w, j) => sum + (w / total) * row(arrays.value, shared, j, DV)[d]!, 0),
  )
}

describe.each(await runnableBackends())('heads that are repeated on %s', backend => {
  beforeAll(() => useBackend(backend))

  it('give what each head of queries sees by the definition of grouped heads', () => {
    const out = tf.tidy(() => {
      const [query, key, value] = tensors()
      return attend(query, repeatHeads(key, H), repeatHeads(value, H), {method: 'softmax'}).out
    })
    const found = out.arraySync() as number[][][][]
    out.dispose()
    for (let b = 0; b < B; b++) {
      for (let h = 0; h < H; h++) {
        for (let i = 0; i < L; i++) {
          const wanted = groupedAttention(b, h, i)
          // a logit of seven terms, weights and a sum of eleven, in floats; values and logits stay below 6
          for (const [d, x] of wanted.entries()) {
            expect(Math.abs(found[b]![h]![i]![d]! - x)).toBeLessThan((D + L + 4) * 2 ** -24 * 36)
          }
        }
      }
    }
  })

  it('are the bits of those that inputs repeat, in a tensor more', () => {
    const key = tf.tensor4d(arrays.key, KEY)
    const before = tf.memory().numTensors
    const full = repeatHeads(key, H)
    expect(tf.memory().numTensors - before).toBe(1)
    expect(full.shape).toEqual([B, H, L, D])
    expect(full.dataSync()).toEqual(repeatedHeads(arrays.key, KEY, H))
    expect(repeatHeads(full, H)).toBe(full)
    expect(key.dataSync()).toEqual(arrays.key)
    tf.dispose([key, full])
  })
})

describe('a decoder of tokens with shared heads', () => {
  beforeAll(() => useBackend('cpu'))
  const decoding = METHOD_NAMES.filter(name => estimatorNamed(name).decoder)

  it.each(decoding)('of %s gives what repeated tokens give', name => {
    const sizes = {batch: B, heads: H, headDim: D, valueDim: DV, numFeatures: 16, seed: 1}
    const host = (data: Float32Array, shape: Shape) => ({shape, data})
    const full = {
      query: host(arrays.query, QUERY),
      key: host(repeatedHeads(arrays.key, KEY, H), [B, H, L, D]),
      value: host(repeatedHeads(arrays.value, VALUE, H), [B, H, L, DV]),
    }
    const make = () => decoderFor({method: name, ...sizes}, full)
    const plain = make()
    const grouped = groupedDecoder(make(), {heads: H, kv_heads: KEY[1]})
    const given = tensors()
    const repeated = [given[0], repeatHeads(given[1], H), repeatHeads(given[2], H)] as const
    const token = (x: tf.Tensor4D, t: number) =>
      tf.slice(x, [0, 0, t, 0], [B, x.shape[1], 1, x.shape[3]])
    const held: number[] = []
    for (let t = 0; t < L; t++) {
      const own = given.map(x => token(x, t)) as [tf.Tensor4D, tf.Tensor4D, tf.Tensor4D]
      const all = repeated.map(x => token(x, t)) as typeof own
      const [got, wanted] = [grouped.next(...own), plain.next(...all)]
      expect(got.dataSync()).toEqual(wanted.dataSync())
      tf.dispose([got, wanted, ...own, ...all])
      held.push(tf.memory().numTensors)
    }
    expect(grouped.stateBytes).toBe(plain.stateBytes)
    // copies go with their token
    expect(held.at(-1)).toBe(held.at(-2))
    grouped.dispose()
    plain.dispose()
    tf.dispose([...given, ...repeated])
  })
})

const sharing = (changes: Partial<BenchPlan> = {}): BenchPlan =>
  benchPlan.parse(
    bench({
      ...{batch: B, heads: H, kv_heads: HKV, head_dim: D, value_dim: DV, seq_lens: [L]},
      methods: [method('elu')],
      ...changes,
    }),
  )

async function firstJob(plan: BenchPlan): Promise<PredictedCell<BenchCell>> {
  return (await benchJobs(plan))[0]!
}

async function resultOf(plan: BenchPlan) {
  const {cell} = await firstJob(plan)
  const outcome = await runBenchCell(benchCell.parse(cell), {part: 'trial'})
  if (outcome.status !== 'completed') return expect.unreachable()
  return benchResult.parse(outcome.result)
}

/** Keys and values of all heads. */
const COPIES = FLOAT * B * H * L * (D + DV)

describe('a plan with shared heads', () => {
  it('has cells that say so, and others leave the field out', async () => {
    const cellsOf = async (plan: BenchPlan) => await benchCells(plan)
    expect((await cellsOf(sharing()))[0]).toMatchObject({heads: H, kv_heads: HKV})
    const {kv_heads: _, ...without} = sharing()
    const plain = await cellsOf(without)
    expect(plain[0]).not.toHaveProperty('kv_heads')
    expect(JSON.stringify(await cellsOf(sharing({kv_heads: H})))).toBe(JSON.stringify(plain))
  })

  it('is refused where heads of queries cannot share them evenly', () => {
    for (const kv_heads of [4, 12]) {
      const {error} = benchPlan.safeParse({...sharing(), kv_heads})
      expect(error?.issues).toMatchObject([{path: ['kv_heads']}])
    }
  })

  it('draws keys and values of the heads that they have', () => {
    const sizes = {batch: B, heads: H, kv_heads: HKV, seq_len: L, head_dim: D, value_dim: DV}
    const {query, key, value} = benchArrays({...sizes, seed: 0})
    expect([query.length, key.length, value.length]).toEqual([
      B * H * L * D,
      B * HKV * L * D,
      B * HKV * L * DV,
    ])
  })
})

describe('cells with shared heads', () => {
  beforeAll(() => useBackend('cpu'))

  it('hold their copies, and do the same operations', async () => {
    const [own, plain] = [await resultOf(sharing()), await resultOf(sharing({kv_heads: H}))]
    expect(own.live_bytes! - plain.live_bytes!).toBe(COPIES)
    expect(own.work_flops).toBe(plain.work_flops)
    expect(own.gate).toEqual(plain.gate)
  })

  it('are predicted with the copies of each run, and with inputs of fewer heads', async () => {
    const [own, plain] = [await firstJob(sharing()), await firstJob(sharing({kv_heads: H}))]
    const spared = (COPIES * (H - HKV)) / H
    // of three runs the collector may have come to none
    expect(own.predictedBytes - plain.predictedBytes).toBe(3 * COPIES - spared)
    expect(own.predictedCost).toBe(plain.predictedCost)
  })

  it('come out of a layer with heads of their own, and are counted so', () => {
    const sizes = {batch: B, heads: H, kv_heads: HKV, seq_len: L, head_dim: D, value_dim: DV}
    const layer = makeLayer({...sizes, seed: 1})
    const product = tf.matMul(layer.tokens, layer.value)
    const rows = product.arraySync() as number[][]
    const before = tf.memory().numBytes
    tf.tidy(() => {
      const out = layerForward(layer, {...sizes, seed: 1}, (query, key, value) => {
        expect([query.shape, key.shape, value.shape]).toEqual([QUERY, KEY, VALUE])
        // sequence 1, head 1, token 3 has the second DV columns of row L + 3
        const heads = value.arraySync() as number[][][][]
        expect(heads[1]![1]![3]).toEqual(rows[L + 3]!.slice(DV, 2 * DV))
        return tf.zeros([B, H, L, DV])
      })
      // as of all heads: TensorFlow.js counts what is reshaped once more; zeros and the output are no part of it
      const views = FLOAT * B * L * (H * D + HKV * (D + DV) + H * DV)
      const made = tf.memory().numBytes - before - FLOAT * out.size - FLOAT * B * L * H * DV
      expect(made).toBe(layerBytes({...sizes, seed: 1}).made + views)
    })
    tf.dispose([product, ...Object.values(layer)])
  })

  it('have fewer weights in a layer', async () => {
    const [own, plain] = [sharing({mode: 'layer'}), sharing({mode: 'layer', kv_heads: H})]
    const [few, all] = [await resultOf(own), await resultOf(plain)]
    const [{cell}, {cell: full}] = [await firstJob(own), await firstJob(plain)]
    const columns = (H - HKV) * (D + DV)
    expect(all.work_flops - few.work_flops).toBe(2 * B * L * H * D * columns)
    expect(layerFlops(full) - layerFlops(cell)).toBe(2 * B * L * H * D * columns)
    expect(layerBytes(full).inputs - layerBytes(cell).inputs).toBe(FLOAT * H * D * columns)
    const around = layerBytes(cell).made - layerBytes(full).made
    expect(few.live_bytes! - all.live_bytes!).toBe(COPIES + around)
  })

  it.each(['softmax', 'elu', 'favor-pos', 'efficient'])(
    'decode %s with the state of all heads',
    async name => {
      const changes = {mode: 'decode' as const, methods: [method(name)]}
      const before = tf.memory().numTensors
      const own = await resultOf(sharing(changes))
      // the tokens and the projection stay for the life of the process
      expect(tf.memory().numTensors - before).toBeLessThanOrEqual(3 * 16 + 1)
      const plain = await resultOf(sharing({...changes, kv_heads: H}))
      expect(own.live_bytes).toBe(plain.live_bytes)
      expect(own.marks!.map(({tokens}) => tokens)).toEqual([2, 4, 8, L])
    },
  )

  it('are broken down with repeating as a part of every forward', async () => {
    const before = tf.memory().numTensors
    const timing = {warmup_runs: 0, min_runs: 6, max_runs: 6, min_time_ns: 0}
    const {breakdown} = await resultOf(sharing({breakdown: true, timing}))
    expect(breakdown!.parts.map(({part}) => part)).toEqual([
      'repeat',
      'features',
      'contraction',
      'guard',
    ])
    expect(breakdown!.parts[0]).toMatchObject({in_whole: true})
    const whole = await resultOf(sharing({breakdown: true, methods: [method('softmax')]}))
    expect(whole.breakdown!.parts).toEqual([])
    // queries, keys and values of both stay, as their processes end with the cells
    expect(tf.memory().numTensors - before).toBeLessThanOrEqual(6)
    const parts = await firstJob(sharing({breakdown: true}))
    const plain = await firstJob(sharing({breakdown: true, kv_heads: H}))
    const [own, all] = [await firstJob(sharing()), await firstJob(sharing({kv_heads: H}))]
    expect(parts.predictedBytes - plain.predictedBytes).toBe(
      own.predictedBytes - all.predictedBytes + COPIES,
    )
  })

  it('are left to no peer', () => {
    const spec = {...method('softmax'), redraw: 'fixed', heads: H}
    expect(whyNoPeer('torch', spec)).toBeUndefined()
    expect(whyNoPeer('torch', {...spec, kv_heads: HKV})).toBe(
      'torch is timed with the same number of heads of keys, values and queries only',
    )
  })
})

describe('records with shared heads', () => {
  const lengths = [512, 1024]
  const own = lengths.map(seq_len => timed({heads: 8, kv_heads: 2, seq_len}))
  const plain = lengths.map(seq_len => timed({heads: 8, seq_len}))
  const text = (records: typeof own) =>
    renderTerminal(benchReport(records), {width: 200, colour: false, unicode: true})

  it('are a shape of their own', () => {
    expect(shapesOf([...own, ...plain])).toEqual([own, plain])
    expect(benchFits([...own, ...plain]).map(({shape}) => shape.kv_heads)).toEqual([2, undefined])
    expect(new Set([...own, ...plain].map(({key}) => key)).size).toBe(4)
  })

  it('are named by their heads, others as before', () => {
    expect(text(own)).toContain('Forward pass, B=1 H=8 Hkv=2 D=17 Dv=13, bidirectional')
    expect(text(plain)).toContain('Forward pass, B=1 H=8 D=17 Dv=13, bidirectional')
    expect(benchFigures(own)[0]!.title).toContain('B=1 H=8 Hkv=2 D=17')
    expect(benchFigures(plain)[0]!.title).toContain('B=1 H=8 D=17')
    const decodes = [decoded({heads: 8, kv_heads: 2}, {token: 1e4})]
    expect(text(decodes)).toContain('B=1 H=8 Hkv=2 D=')
    expect(benchComparison.place(own[0]!.cell)).toMatchObject({H: '8', Hkv: '2'})
    expect(benchComparison.place(plain[0]!.cell)).not.toHaveProperty('Hkv')
    expect(benchComparison.measured(own[0]!.cell)).toMatchObject({kv_heads: 2})
  })
})
