import * as tf from '@tensorflow/tfjs-core'
import '@tensorflow/tfjs-core/dist/register_all_gradients.js'
import {beforeAll, describe, expect, it} from 'vitest'
import {
  causalMask,
  headMask,
  indicator,
  MASKED,
  maskLogits,
  presence,
  reciprocalOrZero,
  sawAnyKey,
} from '../../../../src/attention/kernels/masking.js'
import {useBackend} from '../../../../src/backends/index.js'
import {compute} from '../../../helpers/arrays.js'

beforeAll(() => useBackend('cpu'))

const values = (body: () => tf.Tensor) => Array.from(compute(body))

describe('masks', () => {
  it('a causal tile lets row i see columns at or before it', () => {
    expect(values(() => causalMask(2, 3))).toEqual([1, 0, 0, 1, 1, 0])
    expect(values(() => causalMask(2, 3, 4, 3))).toEqual([1, 1, 0, 1, 1, 1])
  })

  it.each(['float32', 'int32', 'bool'] as const)('a %s mask becomes zeros and ones', dtype => {
    expect(values(() => presence(tf.tensor1d([0, 1, 0, 2], dtype)))).toEqual([0, 1, 0, 1])
  })

  it('a key mask is repeated for every head, any nonzero meaning present', () => {
    const mask = () => tf.tensor2d([1, 0, 0.5, -2], [2, 2])
    expect(values(() => headMask(mask(), 2))).toEqual([1, 0, 1, 0, 1, 1, 1, 1])
  })

  it('masked logits swallow what is added to them and stay finite against themselves', () => {
    const out = values(() => maskLogits(tf.tensor1d([3, 5e3]), tf.tensor1d([1, 0])))
    expect(out).toEqual([3, Math.fround(MASKED)])
    expect(Math.fround(Math.fround(MASKED) + 1e6)).toBe(Math.fround(MASKED))
  })

  it('log-sums tell rows that saw a key', () => {
    expect(values(() => sawAnyKey(tf.tensor1d([-1e4, 0, MASKED, MASKED + 100])))).toEqual([
      1, 1, 0, 0,
    ])
  })

  it('the reciprocal of zero is zero', () => {
    expect(values(() => reciprocalOrZero(tf.tensor1d([2, 0, -4])))).toEqual([0.5, 0, -0.25])
  })

  it('gradients pass by an indicator as by a constant', () => {
    const gradient = values(() => {
      const x = tf.tensor1d([-1, 2])
      return tf.grad(y =>
        tf.sum(
          tf.mul(
            y,
            indicator(y, value => tf.greater(value, 0)),
          ),
        ),
      )(x)
    })
    expect(gradient).toEqual([0, 1])
  })
})
