import * as tf from '@tensorflow/tfjs-core'
import '@tensorflow/tfjs-core/dist/register_all_gradients.js'
import {beforeAll, describe, expect, it} from 'vitest'
import {attention, decoder} from '../../../../src/attention/index.js'
import {useBackend} from '../../../../src/backends/index.js'
import {compute, hostInputs, SMALL, toTensors} from '../../../helpers/arrays.js'
import {decodeAll} from '../../../helpers/decode.js'
import {outputBound, runCase} from '../../../helpers/estimator-case.js'
import {addBounds, assertWithin} from '../../../helpers/rounding.js'
import {thrown} from '../../../helpers/thrown.js'

beforeAll(() => useBackend('cpu'))

const SQUARE = {...SMALL, queryLen: SMALL.keyLen}
const inputs = hostInputs(SQUARE)
const {batch, heads, headDim, valueDim, numFeatures} = SQUARE
const METHODS = ['oprf', 'saderf', 'aderf', 'sderf'] as const

describe('oprf', () => {
  it('decodes with a given A, without calibration', () => {
    const asked = {method: 'oprf', a: -0.1, numFeatures, seed: 5} as const
    const step = decoder({...asked, batch, heads, headDim, valueDim})
    const {out} = decodeAll(step, inputs)
    step.dispose()
    const given = {method: 'oprf', sizes: SQUARE, causal: true, options: {a: -0.1}} as const
    const expected = runCase(given).out
    const bound = outputBound(given)
    assertWithin('A = -0.1', out, expected, addBounds(bound, bound))
  })

  it.each([0.125, 1])('refuses A = %s, for which the second moment is infinite', a => {
    const error = thrown(() => attention(...toTensors(inputs), {method: 'oprf', a}))
    expect(error.code).toBe('BAD_OPTION')
    expect(error.message).toBe(`oprf.a: expected a number below 0.125, got ${a}`)
  })
})

describe.each(METHODS)('%s', method => {
  it('asks for calibration before it decodes', () => {
    const error = thrown(() => decoder({method, heads, headDim, valueDim}))
    expect(error.code).toBe('UNSUPPORTED')
    expect(error.message).toMatch(/expected calibration for decoding, got none/)
    expect(error.suggestions.join()).toMatch(/calibration: \{query, key\}/)
  })

  it.each([false, true])('takes its statistics from calibration where given, causal %s', causal => {
    const own = compute(() => attention(...toTensors(inputs), {method, causal, numFeatures}))
    const from = (scale: number) =>
      compute(() => {
        const [query, key, value] = toTensors(inputs)
        const calibration = {query: tf.mul(query, scale), key: tf.mul(key, scale)} as {
          query: tf.Tensor4D
          key: tf.Tensor4D
        }
        return attention(query, key, value, {method, causal, numFeatures, calibration})
      })
    expect(from(1)).toEqual(own)
    expect(from(2)).not.toEqual(own)
  })

  it.each([false, true])('takes statistics as constants of gradients, causal %s', causal => {
    const gradients = (calibrated: boolean) =>
      compute(() => {
        const tokens = toTensors(inputs)
        const [query, key] = tokens.map(tensor => tensor.clone()) as [tf.Tensor4D, tf.Tensor4D]
        const asked = {method, causal, numFeatures, ...(calibrated && {calibration: {query, key}})}
        const loss = (...[q, k, v]: tf.Tensor[]) =>
          tf.sum(attention(q as tf.Tensor4D, k as tf.Tensor4D, v as tf.Tensor4D, asked))
        return tf.grads(loss as (...args: tf.Tensor[]) => tf.Scalar)([...tokens])
      })
    expect(gradients(true)).toEqual(gradients(false))
  })
})
