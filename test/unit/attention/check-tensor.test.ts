import * as tf from '@tensorflow/tfjs-core'
import {beforeAll, describe, expect, it} from 'vitest'
import '@tensorflow/tfjs-backend-cpu'
import {checkTensor, hasShape, MASK_TYPES} from '../../../src/attention/check-tensor.js'
import {checkArray} from '../../../src/attention/kernels/checks.js'

beforeAll(async () => {
  await tf.setBackend('cpu')
})

describe('a shape', () => {
  it('fits where it is as wanted, or 1 along a shared axis', () => {
    expect(hasShape([2, 3, 5], [2, 3, 5])).toBe(true)
    expect(hasShape([1, 1, 5], [2, 3, 5], 2)).toBe(true)
    expect(hasShape([], [])).toBe(true)
  })

  it.each([[[2, 3]], [[2, 3, 1]], [[1, 3, 5]], [[2, 3, 5, 1]]])(
    'of %j does not fit [2, 3, 5]',
    shape => {
      expect(hasShape(shape, [2, 3, 5])).toBe(false)
      const call = () => checkArray('Op', {key: {shape, dtype: 'float32'}}, 'key', [2, 3, 5])
      expect(call).toThrow(`Op: expected key [2, 3, 5], got [${shape.join(', ')}]`)
    },
  )
})

describe('a tensor', () => {
  it('is one that lives and holds float32, or what a mask may hold', () => {
    tf.tidy(() => {
      expect(() => checkTensor('x', tf.ones([2]))).not.toThrow()
      for (const dtype of ['float32', 'int32', 'bool'] as const) {
        expect(() => checkTensor('x', tf.ones([2], dtype), MASK_TYPES)).not.toThrow()
      }
    })
  })

  it.each([null, undefined, {}, 'x', [1, 2], new Float32Array(2)])('is not %o', given => {
    expect(() => checkTensor('x', given)).toThrow(/^x: expected a tensor, got /)
  })

  it('is not of another type, and the remedy is a cast where there is one', () => {
    tf.tidy(() => {
      expect(() => checkTensor('x', tf.ones([2], 'int32'))).toThrow(
        expect.objectContaining({
          code: 'BAD_OPTION',
          message: 'x: expected a float32 tensor, got int32',
          suggestions: ["use tf.cast(x, 'float32')"],
        }),
      )
      expect(() => checkTensor('x', tf.tensor1d(['a']))).toThrow(
        expect.objectContaining({
          message: 'x: expected a float32 tensor, got string',
          suggestions: [],
        }),
      )
    })
  })

  it('is not one that was disposed', () => {
    const x = tf.ones([2])
    x.dispose()
    expect(() => checkTensor('x', x)).toThrow(
      expect.objectContaining({
        code: 'BAD_OPTION',
        message: 'x: expected a tensor in use, got a disposed one',
      }),
    )
  })
})
