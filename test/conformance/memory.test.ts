import * as tf from '@tensorflow/tfjs-core'
import {beforeAll, describe, expect, it} from 'vitest'
import {
  attention,
  decoder,
  loadEstimators,
  METHOD_NAMES,
  type PresetName,
} from '../../src/attention/index.js'
import {estimatorNamed} from '../../src/attention/resolve.js'
import {useBackend} from '../../src/backends/index.js'
import {hostInputs, maskTensor, SMALL, scatteredMask, toTensors} from '../helpers/arrays.js'
import {casesOn, runnableBackends} from '../helpers/backends.js'
import {decoderFor, token} from '../helpers/decode.js'

const backends = await runnableBackends()
await loadEstimators()

const SQUARE = {...SMALL, queryLen: SMALL.keyLen}

describe.each(backends)('tensors on %s', backend => {
  beforeAll(() => useBackend(backend))

  const calls = METHOD_NAMES.flatMap(method =>
    ['exact', ...Object.keys(estimatorNamed(method).presets)].map(
      preset => [method, preset as PresetName] as const,
    ),
  )

  it.each(casesOn(backend, calls))(
    'attention with %s, preset %s, leaves its output and nothing else',
    (method, preset) => {
      const {supports} = estimatorNamed(method)
      const inputs = toTensors(hostInputs(SQUARE))
      const keyMask = maskTensor(scatteredMask(SQUARE), SQUARE.batch)
      for (const causal of [false, true]) {
        if (causal ? !supports.causal : !supports.bidirectional) continue
        for (const masked of supports.keyMask ? [false, true] : [false]) {
          const before = tf.memory().numTensors
          const out = attention(...inputs, {
            method,
            preset,
            causal,
            numFeatures: SQUARE.numFeatures,
            ...(masked && {keyMask}),
          })
          expect(tf.memory().numTensors).toBe(before + 1)
          out.dispose()
        }
      }
      tf.dispose([...inputs, keyMask])
    },
  )

  const decoding = METHOD_NAMES.filter(method => estimatorNamed(method).supports.decode)
  it.each(casesOn(backend, decoding))(
    'a decoder of %s frees its state, and each step the one before',
    method => {
      const {batch, heads, headDim, valueDim} = SQUARE
      const inputs = hostInputs(SQUARE)
      const [query, key, value] = toTensors(inputs)
      const before = tf.memory().numTensors
      const sizes = {batch, heads, headDim, valueDim, numFeatures: 7}
      const step = decoderFor({method, ...sizes}, inputs)
      const opened = tf.memory().numTensors
      for (let t = 0; t < 3; t++) {
        tf.tidy(() => {
          step.next(token(query, t), token(key, t), token(value, t))
        })
        expect(tf.memory().numTensors).toBe(opened)
      }
      expect(step.stateBytes).toBe(
        Object.values(step.state).reduce((sum, tensor) => sum + 4 * tensor.size, 0),
      )
      step.dispose()
      expect(tf.memory().numTensors).toBe(before)
      tf.dispose([query, key, value])
    },
  )

  it('a decoder leaves a projection that it was given', () => {
    const {heads, headDim, valueDim} = SQUARE
    const projection = tf.ones<tf.Rank.R2>([7, headDim])
    const step = decoder({method: 'rfa', heads, headDim, valueDim, projection})
    step.dispose()
    expect(projection.isDisposed).toBe(false)
    projection.dispose()
  })
})
