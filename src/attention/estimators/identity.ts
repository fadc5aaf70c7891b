import {z} from 'zod'
import {expected} from '../../errors.js'
import {tf} from '../../tf.js'
import {passCost} from '../forms/costs.js'
import {defineEstimator} from '../forms/estimator.js'

/**
 * Yardstick: a copy of the values, the least that any "attention" does: it reads V and writes an output. Its
 * time is the floor of every speed comparison.
 *
 * Source: the line "X" of Choromanski et al. 2021, arXiv:2009.14794, Fig. 3.
 */
export default defineEstimator({
  name: 'identity',
  title: 'Values copied (yardstick)',
  citation: 'yardstick; Choromanski et al. 2021, arXiv:2009.14794, Fig. 3',
  formula: 'out_i = v_i',
  advice: 'One pass over the values: no method can be faster.',
  unbiasedFor: 'none',
  nonNegative: true,
  rowsSumToOne: true,
  supports: {bidirectional: true, causal: true, cross: false, decode: false, keyMask: false},
  keyOrderMatters: true,
  ignores: {query: 'values are copied', key: 'values are copied'},
  featureDim: () => 0,
  options: z.object({}),
  inputs: () => 'raw',
  target: () => undefined,
  cost: passCost,
  attend: ({query, value}) => {
    if (query.shape[2] === value.shape[2]) return {out: copyOf(value)}
    const what = 'the same number of queries and values'
    throw expected('UNSUPPORTED', 'identity', what, `${query.shape[2]} and ${value.shape[2]}`)
  },
  presets: {},
})

/**
 * A copy of the values: tf.clone would share their memory. Times one, which changes no bit of a number; TensorFlow's
 * library makes zeros of what is smaller than the smallest normal one.
 */
function copyOf(value: tf.Tensor4D): tf.Tensor4D {
  return tf.mul(value, 1)
}
