import {beforeAll, describe, expect, it} from 'vitest'
import {recordOperations} from '../../../../../src/attention/index.js'
import {useBackend} from '../../../../../src/backends/index.js'
import {forwardOf, warmCode} from '../../../../../src/experiments/bench/measure/forward.js'
import {newSource} from '../../../../../src/experiments/bench/measure/inputs.js'
import type {BenchCell} from '../../../../../src/experiments/bench/schema.js'
import {resolveMethod} from '../../../../../src/experiments/method.js'
import {tf} from '../../../../../src/tf.js'
import {timed} from '../../../../helpers/records/bench.js'

beforeAll(async () => {
  await useBackend('native')
})

const changes: readonly Partial<BenchCell>[] = [
  {method: 'softmax', projection: null, num_features: null},
  {method: 'favor-pos', projection: 'orth', num_features: 16},
  {method: 'favor-pos', projection: 'orth', num_features: 16, kv_heads: 1, heads: 2},
  {method: 'favor-pos', projection: 'orth', num_features: 16, redraw: 'call'},
  {method: 'elu', projection: null, num_features: null, mode: 'layer'},
  {method: 'nystrom', projection: null, num_features: 64},
]
const cells = changes.map(change => timed({seq_len: 96, ...change}).cell)

describe('warmCode', () => {
  it.each(cells)('runs what a call of $method runs, and leaves nothing', async cell => {
    const method = await resolveMethod(cell)
    const source = newSource(cell, method)
    const {forward} = forwardOf({cell, method, source})
    const whole = recordOperations(forward).operations
    const before = tf.memory().numTensors
    const warmed = recordOperations(() => warmCode({cell, method})).operations
    expect(Object.keys(warmed)).toEqual(Object.keys(whole))
    expect(tf.memory().numTensors).toBe(before)
    source?.dispose()
  })
})

describe('forwardOf', () => {
  it('applies learned maps before the clock starts, not in what is timed', async () => {
    const {cell} = timed({method: 'elu', projection: null, num_features: null, seq_len: 32})
    const method = await resolveMethod(cell)
    const tuned = (query: tf.Tensor4D, key: tf.Tensor4D) => ({
      query: tf.mul(query, 2) as tf.Tensor4D,
      key: tf.mul(key, 4) as tf.Tensor4D,
    })
    const plain = forwardOf({cell, method, source: undefined})
    const own = forwardOf({cell, method, source: undefined, tuned})
    const values = (tensor: tf.Tensor | undefined, factor = 1) =>
      Float32Array.from(tensor!.dataSync(), x => factor * x)
    const [query, key, value] = plain.tensors!
    expect(own.tensors!.map(tensor => values(tensor))).toEqual([
      ...[values(query, 2), values(key, 4), values(value)],
    ])
    const operations = (forward: () => void) => recordOperations(forward).operations
    expect(operations(own.forward)).toEqual(operations(plain.forward))
    tf.dispose([plain.tensors!, own.tensors!])
  })
})
