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
