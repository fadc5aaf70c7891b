import * as tf from '@tensorflow/tfjs-core'
import {z} from 'zod'
import {RfaError} from '../../errors.js'
import {passCost} from '../costs.js'
import {defineEstimator} from '../types.js'

/**
 * Yardstick: the values passed through, the fastest "attention" there is. Its time is the floor of
 * every speed comparison.
 *
 * Source: the line "X" of Choromanski et al. 2021, arXiv:2009.14794, Fig. 3.
 */
export default defineEstimator({
  name: 'identity',
  title: 'Values passed through (yardstick)',
  citation: 'yardstick; Choromanski et al. 2021, arXiv:2009.14794, Fig. 3',
  formula: 'out_i = v_i',
  advice: 'The floor of every speed comparison.',
  unbiasedFor: 'none',
  nonNegative: true,
  rowsSumToOne: true,
  supports: {bidirectional: true, causal: true, cross: false, decode: false, keyMask: false},
  keyOrderMatters: true,
  featureDim: () => 0,
  options: z.object({}),
  inputs: () => 'raw',
  target: () => undefined,
  cost: passCost,
  attend: ({query, value}) => {
    if (query.shape[2] === value.shape[2]) return {out: tf.clone(value)}
    throw new RfaError(
      'UNSUPPORTED',
      `identity: expected as many queries as values, got ${query.shape[2]} and ${value.shape[2]}`,
    )
  },
  presets: {},
})
