import * as tf from '@tensorflow/tfjs-core'
import {z} from 'zod'
import {featureStateBytes, passCost} from '../forms/costs.js'
import {featureDecoder} from '../forms/decoders/features.js'
import {defineEstimator} from '../forms/estimator.js'
import {featureAttention} from '../forms/feature-attention.js'
import {NO_GUARD} from '../kernels/guard.js'

/**
 * Yardstick: every output is the mean of the values in view. An estimator that does worse has
 * learnt nothing from queries and keys.
 */
export default defineEstimator({
  name: 'mean-value',
  title: 'Mean of the values (yardstick)',
  citation: 'yardstick',
  formula: 'out_i = mean_j v_j over the keys in view',
  advice: 'The error every estimator must beat to be worth anything.',
  unbiasedFor: 'none',
  nonNegative: true,
  rowsSumToOne: true,
  supports: {bidirectional: true, causal: true, cross: true, decode: true, keyMask: true},
  keyOrderMatters: false,
  featureDim: () => 1,
  options: z.object({}),
  inputs: () => 'raw',
  target: () => undefined,
  cost: passCost,
  stateBytes: ({valueDim}) => featureStateBytes(1, valueDim),
  attend: ({query, key, value, causal, keyMask}) =>
    featureAttention({
      queryFeatures: constantFeature(query),
      keyFeatures: constantFeature(key),
      value,
      causal,
      keyMask,
      guard: NO_GUARD,
    }),
  decoder: inputs =>
    featureDecoder(inputs, 1, {query: constantFeature, key: constantFeature}, {guard: NO_GUARD}),
  presets: {},
})

/** The feature map of uniform weights, `[B, H, L, 1]`. */
function constantFeature(x: tf.Tensor4D): tf.Tensor4D {
  const [batch, heads, length] = x.shape
  return tf.ones([batch, heads, length, 1])
}
