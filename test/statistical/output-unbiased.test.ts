import * as tf from '@tensorflow/tfjs-core'
import {beforeAll, describe, expect, it} from 'vitest'
import {
  attention,
  exactAttention,
  loadEstimators,
  type MethodName,
} from '../../src/attention/index.js'
import {estimatorNamed} from '../../src/attention/resolve.js'
import {useBackend} from '../../src/backends/index.js'
import {
  compute,
  type HostInputs,
  hostInputs,
  maskTensor,
  type Sizes,
  toTensors,
} from '../helpers/arrays.js'
import {methodsWhere} from '../helpers/methods.js'
import {gamma, maxAbs} from '../helpers/rounding.js'
import {assertNear, EFFORT, type Moments, moments, Z} from '../helpers/statistics.js'

await loadEstimators()
beforeAll(() => useBackend('cpu'))

const METHODS = methodsWhere(({unbiasedFor}) => unbiasedFor === 'output')
const SIZES: Sizes = {
  batch: 1,
  heads: 1,
  queryLen: 3,
  keyLen: 5,
  headDim: 8,
  valueDim: 2,
  numFeatures: 7,
}
const DRAWS = 4000 * EFFORT

/** Moments of every output element over independent draws: each draw is a head. */
function outputMoments(
  method: MethodName,
  inputs: HostInputs,
  options: Record<string, unknown> = {},
  mask?: Float32Array,
): Moments[] {
  const out = compute(() => {
    const [query, key, value] = toTensors(inputs).map(tensor => tf.tile(tensor, [1, DRAWS, 1, 1]))
    return attention(query as tf.Tensor4D, key as tf.Tensor4D, value as tf.Tensor4D, {
      method,
      numFeatures: SIZES.numFeatures,
      seed: 19,
      ...(mask && {keyMask: maskTensor(mask, 1)}),
      ...options,
    })
  })
  const size = out.length / DRAWS
  return Array.from({length: size}, (_, at) =>
    moments(Float64Array.from({length: DRAWS}, (_, draw) => out[draw * size + at]!)),
  )
}

function truth(method: MethodName, {query, key, value}: HostInputs, causal = false): Float64Array {
  const {target, options} = estimatorNamed(method)
  return exactAttention(query, key, value, {
    target: target(options.parse({}))!,
    logitScale: SIZES.headDim ** -0.5,
    causal,
  })
}

const inputs = hostInputs(SIZES)
/** Longest canonical query or key. */
const REACH = SIZES.headDim ** 0.25 * Math.max(maxAbs(inputs.query.data), maxAbs(inputs.key.data))
/**
 * What float32 does to one output: weights off by (D + S + 64) u (1 + largest logit), the logit being that
 * of a vector of two such lengths and a noise of at most 8 with a third (one draw in 1e10 is longer).
 */
const ROUNDING =
  2 *
  gamma(SIZES.headDim + SIZES.keyLen + 64) *
  (1 + (2 * REACH + 8) * REACH) *
  maxAbs(inputs.value.data)

describe('whole outputs', () => {
  it.each(METHODS)('of %s have the mean of exact attention', method => {
    for (const causal of estimatorNamed(method).supports.causal ? [false, true] : [false]) {
      const exact = truth(method, inputs, causal)
      outputMoments(method, inputs, {causal, causalAlign: 'start'}).forEach(
        ({mean, standardError}, at) => {
          assertNear(`${method} element ${at}`, mean, exact[at]!, standardError, ROUNDING)
        },
      )
    }
  })

  it.each(METHODS)('of %s have it with masked keys too', method => {
    const kept = 3
    const mask = Float32Array.from({length: SIZES.keyLen}, (_, j) => (j < kept ? 1 : 0))
    const rows = ({data, shape}: HostInputs['key']) => ({
      shape: [1, 1, kept, shape[3]] as const,
      data: data.slice(0, kept * shape[3]),
    })
    const exact = truth(method, {...inputs, key: rows(inputs.key), value: rows(inputs.value)})
    outputMoments(method, inputs, {}, mask).forEach(({mean, standardError}, at) => {
      assertNear(`${method} element ${at}`, mean, exact[at]!, standardError, ROUNDING)
    })
  })
})

describe('randomized attention', () => {
  it('is biased with the noise of preset hku, as its quirk says', () => {
    const exact = truth('ra', inputs)
    const distances = outputMoments('ra', inputs, {preset: 'hku'}).map(
      ({mean, standardError}, at) => Math.abs(mean - exact[at]!) / standardError,
    )
    expect(Math.max(...distances)).toBeGreaterThan(Z)
  })

  it('has a variance that falls as one over the number of samples', () => {
    const samples = 4
    const single = outputMoments('ra', inputs)
    outputMoments('ra', inputs, {samples}).forEach(({variance, varianceError}, at) => {
      const expected = single[at]!.variance / samples
      const error = Math.hypot(varianceError, single[at]!.varianceError / samples)
      assertNear(`element ${at}`, variance, expected, error)
    })
  })
})
