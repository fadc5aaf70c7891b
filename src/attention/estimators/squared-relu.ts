import * as tf from '@tensorflow/tfjs-core'
import {z} from 'zod'
import {featureCost, featureStateBytes} from '../forms/costs.js'
import {featureDecoder} from '../forms/decoders/features.js'
import {defineEstimator} from '../forms/estimator.js'
import {featureAttention} from '../forms/feature-attention.js'
import {guardOf, guardOptions} from '../forms/options.js'

const options = z.object({
  part: z
    .enum(['positive', 'whole'])
    .default('positive')
    .describe('positive: relu(x)^2; whole: x^2, blind to signs'),
  ...guardOptions,
})

/**
 * Squared entries as features, no projection, on unscaled queries and keys. Its weights are its own;
 * softmax is not approximated.
 *
 * `phi(x) = relu(x)^2`, or `x^2`, elementwise.
 *
 * Source: So et al. 2021, arXiv:2109.08668 (the nonlinearity); Likhosherstov et al. 2020,
 * arXiv:2012.11346, in whose code x^2 stands beside elu and relu.
 */
export default defineEstimator({
  name: 'squared-relu',
  title: 'Squared entries',
  citation: 'So et al. 2021, arXiv:2109.08668; Likhosherstov et al. 2020, arXiv:2012.11346',
  formula: 'phi(x) = relu(x)^2',
  advice:
    'A zero-variance baseline for models trained with it; sharper than relu. Rows whose query is nowhere positive together with a key are zero.',
  unbiasedFor: 'none',
  nonNegative: true,
  rowsSumToOne: true,
  supports: {bidirectional: true, causal: true, cross: true, decode: true, keyMask: true},
  keyOrderMatters: false,
  featureDim: (_numFeatures, headDim) => headDim,
  options,
  inputs: () => 'raw',
  target: () => undefined,
  cost: shape => featureCost(shape, shape.headDim, 0),
  stateBytes: ({headDim, valueDim}) => featureStateBytes(headDim, valueDim),
  attend: ({query, key, value, causal, keyMask, options}) =>
    featureAttention({
      queryFeatures: squared(query, options.part),
      keyFeatures: squared(key, options.part),
      value,
      causal,
      keyMask,
      guard: guardOf(options, causal),
    }),
  decoder: inputs => {
    const features = (token: tf.Tensor4D) => squared(token, inputs.options.part)
    return featureDecoder(
      inputs,
      inputs.headDim,
      {query: features, key: features},
      {guard: guardOf(inputs.options, true)},
    )
  },
  presets: {
    'google-slim': {
      options: {part: 'whole', denGuard: 'add:1e-16'},
      quirk: 'squares without rectifying: a query cannot tell a key from its opposite',
    },
  },
})

function squared(x: tf.Tensor4D, part: 'positive' | 'whole'): tf.Tensor4D {
  return tf.square(part === 'positive' ? tf.relu(x) : x)
}
