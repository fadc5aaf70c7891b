import {z} from 'zod'
import {tf} from '../../tf.js'
import {defineFeatureMap} from '../forms/feature-map.js'
import {guardOptions} from '../forms/options.js'
import {secondOrder, secondOrderDim} from '../forms/second-order.js'

/**
 * Second-order Taylor attention: exact attention with weights `1 + s + s^2/2`, s = x.y, in linear time.
 *
 * The weights are at least 1/2, so denominators never vanish, but they grow where exp(s) falls: below
 * s = -1 a key counts for more the less it agrees with the query.
 *
 * Source: Arora et al. 2024, arXiv:2402.18668; Zhang et al. 2024, arXiv:2402.04347.
 */
const options = z.object(guardOptions)

export default defineFeatureMap({
  name: 'taylor',
  title: 'Second-order Taylor features',
  citation: 'Arora et al. 2024, arXiv:2402.18668; Zhang et al. 2024, arXiv:2402.04347',
  formula: 'phi(x) = [1, x, x_a^2/sqrt(2), x_a x_b (a < b)], phi(x).phi(y) = 1 + s + s^2/2',
  advice:
    'Approximates softmax without variance while |x.y| stays below about 1. Its state grows with D^2, so keep D small. Beyond that, large logits are flattened and negative ones count as large.',
  nonNegative: true, // 1 + s + s^2/2 = ((1 + s)^2 + 1) / 2
  featureDim: (_numFeatures, headDim) => secondOrderDim(headDim),
  options,
  inputs: () => 'canonical',
  phi:
    ({inputScale}) =>
    q =>
      secondOrder(tf.mul(q, inputScale)),
  presets: {
    fla: {
      options: {denGuard: 'add:1e-10'},
      quirk: '1e-10 on denominators that are at least 1/2: no visible effect',
    },
  },
})
