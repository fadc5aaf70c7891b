import * as tf from '@tensorflow/tfjs-core'
import {z} from 'zod'
import {featureCost, featureStateBytes} from '../forms/costs.js'
import {featureDecoder} from '../forms/decoders/features.js'
import {defineEstimator} from '../forms/estimator.js'
import {featureAttention} from '../forms/feature-attention.js'
import {guardOf, guardOptions} from '../forms/options.js'

const options = z.object({
  nu: z
    .number()
    .int()
    .positive()
    .default(2)
    .describe('number of rolled products: the feature vector has 2 D nu entries'),
  ...guardOptions,
})

/**
 * Deterministic parameter-free projection: products of rectified entries with their neighbours. Its
 * weights are its own; softmax is not approximated, and queries and keys are not scaled (a common
 * factor cancels).
 *
 * `phi(x) = [r roll(r, 1), .., r roll(r, nu)]`, `r = [relu(x), relu(-x)]`.
 *
 * Source: Schlag, Irie, Schmidhuber 2021, arXiv:2102.11174, section 5.3.
 */
export default defineEstimator({
  name: 'dpfp',
  title: 'Deterministic parameter-free projection',
  citation: 'Schlag et al. 2021, arXiv:2102.11174',
  formula: 'phi(x) = [r roll(r, 1), .., r roll(r, nu)], r = [relu(x), relu(-x)]',
  advice:
    'A sparse, zero-variance baseline for models trained with it. Rows whose query shares no active pair with any key are zero.',
  unbiasedFor: 'none',
  nonNegative: true,
  rowsSumToOne: true,
  supports: {bidirectional: true, causal: true, cross: true, decode: true, keyMask: true},
  keyOrderMatters: false,
  featureDim: (_numFeatures, headDim, {nu}) => 2 * headDim * nu,
  options,
  inputs: () => 'raw',
  target: () => undefined,
  cost: (shape, {nu}) => featureCost(shape, 2 * shape.headDim * nu, 0),
  stateBytes: ({headDim, valueDim}, {nu}) => featureStateBytes(2 * headDim * nu, valueDim),
  attend: ({query, key, value, causal, keyMask, options}) =>
    featureAttention({
      queryFeatures: rolledProducts(query, options.nu),
      keyFeatures: rolledProducts(key, options.nu),
      value,
      causal,
      keyMask,
      guard: guardOf(options, causal),
    }),
  decoder: inputs => {
    const features = (token: tf.Tensor4D) => rolledProducts(token, inputs.options.nu)
    return featureDecoder(
      inputs,
      2 * inputs.headDim * inputs.options.nu,
      {query: features, key: features},
      {guard: guardOf(inputs.options, true)},
    )
  },
  presets: {
    hku: {
      options: {denGuard: 'clamp:1e-2'},
      quirk: 'denominators below 0.01 become 0.01: such rows are shrunk',
    },
  },
})

/** `[B, H, n, D]` to `[B, H, n, 2 D nu]`. */
function rolledProducts(x: tf.Tensor4D, nu: number): tf.Tensor4D {
  const [batch, heads, length, headDim] = x.shape
  const width = 2 * headDim
  const rectified = tf.concat([tf.relu(x), tf.relu(tf.neg(x))], 3)
  const products = Array.from({length: nu}, (_, j) => {
    const shift = (j + 1) % width
    const head = tf.slice(rectified, [0, 0, 0, width - shift], [batch, heads, length, shift])
    const tail = tf.slice(rectified, [0, 0, 0, 0], [batch, heads, length, width - shift])
    return tf.mul(rectified, shift === 0 ? rectified : tf.concat([head, tail], 3))
  })
  return (products.length === 1 ? products[0] : tf.concat(products, 3)) as tf.Tensor4D
}
