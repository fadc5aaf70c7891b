import * as tf from '@tensorflow/tfjs-core'
import {describe, expect, it} from 'vitest'
import {useBackend} from '../../../../../src/backends/index.js'
import {layerBytes, layerFlops} from '../../../../../src/experiments/bench/cost/layer-costs.js'
import {runBenchCell} from '../../../../../src/experiments/bench/measure/cell.js'
import {layerForward, makeLayer} from '../../../../../src/experiments/bench/measure/layer.js'
import {
  type BenchPlan,
  benchPlan,
  benchResult,
} from '../../../../../src/experiments/bench/schema.js'
import {benchCells, benchJobs} from '../../../../helpers/cells.js'
import {bench, method} from '../../../../helpers/plans.js'

await useBackend('cpu')

const SIZES = {batch: 2, heads: 3, seq_len: 5, head_dim: 7, value_dim: 4, seed: 1}
const WIDTH = 3 * 7

const plan = (changes: Partial<BenchPlan> = {}) =>
  benchPlan.parse(bench({mode: 'layer', ...changes}))

/** Product of two matrices in double precision, and how many multiply-adds it took. */
function product(a: number[][], b: number[][], work: {adds: number}): number[][] {
  return a.map(row =>
    b[0]!.map((_, column) =>
      row.reduce((sum, x, at) => {
        work.adds++
        return sum + x * b[at]![column]!
      }, 0),
    ),
  )
}

describe('a layer around attention', () => {
  const layer = makeLayer(SIZES)
  const matrix = (name: keyof typeof layer) => layer[name].arraySync()

  it('is its projections, what stands at the place of attention, and the feed-forward part', () => {
    const seen: number[][] = []
    // twice the values, so that the place of each is told
    const out = layerForward(layer, SIZES, (query, key, value) => {
      seen.push(query.shape, key.shape, value.shape)
      return tf.mul(value, 2)
    })
    expect(seen).toEqual([
      [2, 3, 5, 7],
      [2, 3, 5, 7],
      [2, 3, 5, 4],
    ])
    const work = {adds: 0}
    const tokens = matrix('tokens')
    product(tokens, matrix('query'), work)
    product(tokens, matrix('key'), work)
    const values = product(tokens, matrix('value'), work).map(row => row.map(x => 2 * x))
    const projected = product(values, matrix('out'), work)
    const hidden = product(projected, matrix('expand'), work).map(row =>
      row.map(x => Math.max(0, x)),
    )
    const wanted = product(hidden, matrix('contract'), work).flat()
    expect(layerFlops(SIZES)).toBe(2 * work.adds)
    const largest = Math.max(...wanted.map(Math.abs))
    for (const [at, got] of out.dataSync().entries()) {
      // four products of at most 4 d terms each, in floats; sums of magnitudes stay within sqrt(terms) of their root mean square
      expect(Math.abs(got - wanted[at]!)).toBeLessThan(4 * 4 * WIDTH * 2 ** -24 * 8 * largest)
    }
  })

  it('gives attention the heads of its own tokens', () => {
    const inner = tf.memory().numTensors
    const out = tf.tidy(() =>
      layerForward(layer, SIZES, (query, _key, value) => {
        const rows = tf.matMul(layer.tokens, layer.query).arraySync() as number[][]
        const heads = query.arraySync()
        // sequence 1, head 2, token 3 has columns 14 to 20 of row 5 + 3
        expect(heads[1]![2]![3]).toEqual(rows[8]!.slice(14, 21))
        return value
      }),
    )
    expect(out.shape).toEqual([10, WIDTH])
    out.dispose()
    expect(tf.memory().numTensors).toBe(inner)
  })

  it('counts the tensors that it makes', () => {
    const {numBytes} = tf.memory()
    const kept: number[] = []
    tf.tidy(() => {
      const out = layerForward(layer, SIZES, (_query, _key, value) => value)
      kept.push(tf.memory().numBytes - numBytes - 4 * out.size)
      return out
    }).dispose()
    // TensorFlow.js counts what is reshaped once more: queries, keys, values, and what attention gave
    const views = 4 * 10 * (2 * WIDTH + 2 * 3 * 4)
    expect(kept).toEqual([layerBytes(SIZES).made + views])
  })
})

describe('cells of a layer', () => {
  it('are timed and counted with it', async () => {
    const [cell] = await benchCells(plan({methods: [method('elu')], seq_lens: [16]}))
    expect(cell).toMatchObject({mode: 'layer', seq_len: 16})
    const outcome = await runBenchCell(cell!)
    const result = benchResult.parse((outcome as {result: unknown}).result)
    const {result: alone} = (await runBenchCell({...cell!, mode: undefined})) as {
      result: typeof result
    }
    expect(result.work_flops).toBe(alone.work_flops + layerFlops(cell!))
    expect(result.live_bytes).toBe(alone.live_bytes! + layerBytes(cell!).made)
    expect(result.gate).toEqual(alone.gate)
  })

  it('are predicted with it', async () => {
    const [layer] = await benchJobs(plan({methods: [method('elu')], head_dim: 64}))
    const [alone] = await benchJobs({
      ...plan({methods: [method('elu')], head_dim: 64}),
      mode: undefined,
    })
    expect(layer!.label).toBe('elu layer L=32')
    expect(layer!.predictedCost).toBeGreaterThan(2 * alone!.predictedCost)
    expect(layer!.predictedBytes).toBeGreaterThan(alone!.predictedBytes)
  })
})
