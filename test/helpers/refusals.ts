import * as tf from '@tensorflow/tfjs-core'
import {afterEach, beforeAll, beforeEach, describe, expect, it} from 'vitest'
import {loadEstimators} from '../../src/attention/index.js'
import {useBackend} from '../../src/backends/index.js'
import type {RfaError} from '../../src/errors.js'
import {runnableBackends} from './backends.js'

const backends = await runnableBackends()
await loadEstimators()

/** Of queries, keys and values where nothing else is said. */
export const SHAPE: [number, number, number, number] = [1, 2, 3, 4]
export const ones = (...shape: number[]): tf.Tensor4D =>
  tf.ones(shape as [number, number, number, number])
export const rows = (shape: number[]) => tf.ones(shape) as tf.Tensor as tf.Tensor2D
/** Ones of another element type. */
export const of = (dtype: tf.DataType) => tf.cast(ones(...SHAPE), dtype) as tf.Tensor4D
export const strings = () =>
  tf.tensor(new Array(24).fill('a'), SHAPE, 'string') as unknown as tf.Tensor4D
/** A disposed tensor. */
export function gone(): tf.Tensor4D {
  const x = ones(...SHAPE)
  x.dispose()
  return x
}

/** A call that is refused, and how. Default code: BAD_OPTION */
export type Refusal = [title: string, call: () => unknown, message: RegExp, code?: RfaError['code']]

/** Runs the calls on every backend. @param what - refuses them */
export function describeRefusals(what: string, refusals: readonly Refusal[]): void {
  describe.each(backends)(`${what} on %s refuses`, backend => {
    beforeAll(() => useBackend(backend))
    beforeEach(() => tf.engine().startScope())
    afterEach(() => tf.engine().endScope())

    it.each(refusals)('%s', (_title, call, message, code = 'BAD_OPTION') => {
      expect(call).toThrow(expect.objectContaining({code, message: expect.stringMatching(message)}))
    })
  })
}
