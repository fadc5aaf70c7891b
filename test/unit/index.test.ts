import * as tf from '@tensorflow/tfjs-core'
import {describe, expect, it} from 'vitest'
import {attention, decoder} from '../../src/index.js'
import {thrown} from '../helpers/thrown.js'

describe('before a backend is chosen', () => {
  it('attention says what to call first', () => {
    const shape = [1, 1, 1, 1]
    const nothing = {shape, rank: 4, size: 1} as unknown as tf.Tensor4D
    const error = thrown(() => attention(nothing, nothing, nothing, {method: 'softmax'}))
    expect(error).toMatchObject({code: 'BACKEND_NOT_READY'})
    expect(error.message).toBe('attention: expected a backend, got none yet')
    expect(error.suggestions).toEqual(["call await useBackend('auto') once before"])
  })

  it('a decoder says so too, and no engine was started by importing the library', () => {
    const sizes = {heads: 1, headDim: 2, valueDim: 2}
    expect(thrown(() => decoder({method: 'rfa', ...sizes}))).toMatchObject({
      code: 'BACKEND_NOT_READY',
    })
    expect(tf.engine().backendName).toBeUndefined()
  })
})
