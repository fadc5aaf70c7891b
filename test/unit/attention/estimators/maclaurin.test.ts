import * as tf from '@tensorflow/tfjs-core'
import {beforeAll, describe, it} from 'vitest'
import {attention} from '../../../../src/attention/index.js'
import {useBackend} from '../../../../src/backends/index.js'
import {compute, hostInputs, SMALL, toTensors} from '../../../helpers/arrays.js'
import {runnableBackends} from '../../../helpers/backends.js'
import {assertWithin, gamma, maxAbs} from '../../../helpers/rounding.js'

const backends = await runnableBackends()

describe.each(backends)('random Maclaurin features on %s', backend => {
  beforeAll(() => useBackend(backend))

  it('of degree 0 alone weigh all keys alike', () => {
    const inputs = hostInputs(SMALL)
    const {heads, numFeatures, headDim, keyLen, valueDim} = SMALL
    const out = compute(() =>
      attention(...toTensors(inputs), {
        method: 'maclaurin',
        numFeatures,
        maxDegree: 2,
        noise: {
          degrees: tf.zeros<tf.Rank.R4>([1, heads, numFeatures, 1]),
          signs: tf.ones<tf.Rank.R4>([1, heads, numFeatures, 2 * headDim]),
        },
      }),
    )
    const {data} = inputs.value
    const mean = Float64Array.from(out, (_, at) => {
      const head = Math.floor(at / (SMALL.queryLen * valueDim))
      const column = Array.from(
        {length: keyLen},
        (_, j) => data[(head * keyLen + j) * valueDim + (at % valueDim)]!,
      )
      return column.reduce((sum, v) => sum + v, 0) / keyLen
    })
    // two sums over M features and S keys, and a quotient
    const bound = 2 * gamma(numFeatures + keyLen + 4) * maxAbs(data)
    assertWithin('mean of values', out, mean, new Float64Array(out.length).fill(bound))
  })
})
