import * as tf from '@tensorflow/tfjs-core'
import {describe, expect, it} from 'vitest'
import {attention} from '../../../../src/attention/index.js'
import {useBackend} from '../../../../src/backends/index.js'
import {runnableBackends} from '../../../helpers/backends.js'
import {TINY} from '../../../helpers/rounding.js'

describe.each(await runnableBackends())('identity on %s', backend => {
  it('copies the values, bit for bit down to the smallest normal number', async () => {
    await useBackend(backend)
    const numbers = Float32Array.of(1, -0, 0.1, -3e38, 2 * TINY, Infinity)
    const value = tf.tensor4d(numbers, [1, 1, 3, 2])
    const size = [1, 1, 3, 5] as const
    const {kernels} = await tf.profile(() => {
      const out = attention(tf.zeros([...size]), tf.zeros([...size]), value, {method: 'identity'})
      expect(out.dataId).not.toBe(value.dataId)
      expect(new Uint32Array(out.dataSync().slice().buffer)).toEqual(
        new Uint32Array(numbers.buffer),
      )
      return out
    })
    expect(kernels.map(({name}) => name)).toContain('Multiply')
    value.dispose()
  })
})
