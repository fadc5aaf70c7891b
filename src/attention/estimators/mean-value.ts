import {z} from 'zod'
import {tf} from '../../tf.js'
import {defineFeatureMap} from '../forms/feature-map.js'

/**
 * Yardstick: every output is the mean of the values in view. An estimator that does worse has
 * learnt nothing from queries and keys.
 */
export default defineFeatureMap({
  name: 'mean-value',
  title: 'Mean of the values (yardstick)',
  citation: 'yardstick',
  formula: 'out_i = mean_j v_j over the keys in view',
  advice:
    'Averages V and ignores queries and keys. A method with a larger error than this is useless.',
  nonNegative: true,
  ignores: {query: 'every key counts alike', key: 'every key counts alike'},
  featureDim: () => 1,
  options: z.object({}),
  inputs: () => 'raw',
  phi: () => constantFeature,
})

/** The feature map of uniform weights, `[B, H, L, 1]`. */
function constantFeature(x: tf.Tensor4D): tf.Tensor4D {
  const [batch, heads, length] = x.shape
  return tf.ones([batch, heads, length, 1])
}
