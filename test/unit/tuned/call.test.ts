import * as tf from '@tensorflow/tfjs-core'
import {afterEach, beforeAll, beforeEach, describe, expect, it} from 'vitest'
import {attend, loadEstimators} from '../../../src/attention/index.js'
import {useBackend} from '../../../src/backends/index.js'
import {attendTuned, tunedCall} from '../../../src/tuned/call.js'
import type {TunedFile} from '../../../src/tuned/index.js'
import {runnableBackends} from '../../helpers/backends.js'
import {exampleTuned} from '../../helpers/tuned.js'

await loadEstimators()
const backends = await runnableBackends()
const named = (tuned: ReturnType<typeof exampleTuned>): TunedFile => ({
  ...tuned,
  path: 'tuned.safetensors',
  digest: '',
})

const [LENGTH, DIM] = [3, 4]
const tokens = (heads: number, batch = 1) =>
  tf.tensor4d(
    Float32Array.from({length: batch * heads * LENGTH * DIM}, (_, i) => Math.cos(i)),
    [batch, heads, LENGTH, DIM],
  )

/** `x @ map` of the heads that `mapOf` names, in double precision. */
function byHand(x: tf.Tensor4D, map: Float32Array, mapOf: (head: number) => number): number[] {
  const [batch, heads] = x.shape
  const data = x.dataSync()
  return Array.from({length: batch * heads * LENGTH * DIM}, (_, i) => {
    const [row, column] = [Math.floor(i / DIM), i % DIM]
    const head = mapOf(Math.floor(row / LENGTH) % heads)
    let sum = 0
    for (let d = 0; d < DIM; d++)
      sum += data[row * DIM + d]! * map[(head * DIM + d) * DIM + column]!
    return sum
  })
}

/** D products of numbers up to 1.2, each rounded, and D sums: relative to 1 at most D + 1 half units each. */
const BOUND = DIM * 1.2 * (DIM + 1) * 2 ** -24

function expectNear(tensor: tf.Tensor, wanted: readonly number[]): void {
  const data = tensor.dataSync()
  expect(data.length).toBe(wanted.length)
  wanted.forEach((value, i) => {
    expect(Math.abs(data[i]! - value)).toBeLessThanOrEqual(BOUND)
  })
}

describe.each(backends)('learned parameters on %s', backend => {
  beforeAll(() => useBackend(backend))
  beforeEach(() => tf.engine().startScope())
  afterEach(() => tf.engine().endScope())

  it('multiply queries and keys of each head by its maps', () => {
    const tuned = named(exampleTuned())
    const [q, k] = [tokens(2, 2), tokens(2, 2)]
    const {query, key, projection} = tunedCall(tuned, 0, 5)(q, k)
    const [{queryMap, keyMap}] = tuned.layers[0]!.sets as [(typeof tuned.layers)[0]['sets'][0]]
    expectNear(
      query,
      byHand(q, queryMap, head => head),
    )
    expectNear(
      key,
      byHand(k, keyMap, head => head),
    )
    expect(projection).toBeUndefined()
  })

  it('follow keys that heads share, and copies of all heads', () => {
    const tuned = named(exampleTuned({heads: 4, keyHeads: 2}))
    const [{queryMap, keyMap}] = tuned.layers[0]!.sets as [(typeof tuned.layers)[0]['sets'][0]]
    const own = tunedCall(tuned, 0, 0)
    const shared = own(tokens(4), tokens(2))
    expectNear(
      shared.key,
      byHand(tokens(2), keyMap, head => head),
    )
    const copies = own(tokens(8), tokens(8))
    expectNear(
      copies.query,
      byHand(tokens(8), queryMap, head => head % 4),
    )
    expectNear(
      copies.key,
      byHand(tokens(8), keyMap, head => Math.floor((head % 4) / 2)),
    )
  })

  it('give the random vectors of a draw of a layer', () => {
    const tuned = named(exampleTuned({learned: 'maps,rows'}, {layers: [1, 4], draws: 3}))
    const {projection} = tunedCall(tuned, 4, 2)(tokens(2), tokens(2))
    expect(projection?.shape).toEqual([2, 8, 4])
    expect(projection?.dataSync()).toEqual(tuned.layers[1]!.sets[2]!.projection)
  })

  it('go into attention', () => {
    const tuned = named(exampleTuned({learned: 'maps,rows'}, {draws: 2}))
    const [q, k, v] = [tokens(2), tokens(2), tokens(2)]
    const options = {method: 'favor-pos', numFeatures: 8} as const
    const {out} = attendTuned(q, k, v, {...options, tuned: tunedCall(tuned, 0, 1)})
    const mapped = tunedCall(tuned, 0, 1)(q, k)
    const {projection} = mapped
    const wanted = attend(mapped.query, mapped.key, v, {
      ...options,
      ...(projection && {projection}),
    })
    expect(out.dataSync()).toEqual(wanted.out.dataSync())
    const plain = attendTuned(q, k, v, {...options, projection: 'orth'})
    expect(plain.out.dataSync()).toEqual(
      attend(q, k, v, {...options, projection: 'orth'}).out.dataSync(),
    )
    expect(plain.out.dataSync()).not.toEqual(out.dataSync())
  })

  it('are refused for tensors of another model', () => {
    const own = tunedCall(named(exampleTuned()), 0, 0)
    const message = expect.stringContaining(
      'expected 2 heads of queries and 2 of keys, of 4 entries each, got queries [1, 3, 3, 4]',
    )
    expect(() => own(tokens(3), tokens(3))).toThrow(
      expect.objectContaining({code: 'SHAPE_MISMATCH', message}),
    )
    const wide = tf.ones([1, 2, 3, 8]) as tf.Tensor4D
    expect(() => own(wide, wide)).toThrow(expect.objectContaining({code: 'SHAPE_MISMATCH'}))
  })
})

it('a layer or a draw that the file lacks is named', () => {
  const tuned = named(exampleTuned({learned: 'rows'}, {layers: [0, 2], draws: 3}))
  const refused = (layer: number | undefined, draw: number, message: string) =>
    expect(() => tunedCall(tuned, layer, draw)).toThrow(
      expect.objectContaining({code: 'ARRAY_MISSING', message: `tuned.safetensors: ${message}`}),
    )
  refused(1, 0, 'expected parameters of layer 1, got those of 0, 2')
  refused(undefined, 0, 'expected parameters of arrays that belong to no layer, got those of 0, 2')
  refused(2, 3, 'expected draw 3, got 3, counted from 0')
})
