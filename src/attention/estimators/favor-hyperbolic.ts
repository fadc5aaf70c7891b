import * as tf from '@tensorflow/tfjs-core'
import {z} from 'zod'
import {RfaError} from '../../errors.js'
import {averaged} from '../../theory/moments.js'
import {hyperbolicRow} from '../../theory/rows.js'
import {featureCost, featureStateBytes} from '../forms/costs.js'
import {type AttendInputs, defineEstimator} from '../forms/estimator.js'
import {featureAttention, scaledInputs} from '../forms/feature-attention.js'
import {GUARDS_IDLE, guardOf, guardOptions, SHIFT_CANCELS} from '../forms/options.js'
import {
  causalPositiveAttention,
  positiveAttention,
  positiveDecoder,
} from '../forms/positive-attention.js'
import {softmaxTarget} from '../forms/targets.js'
import {featureMap} from '../kernels/index.js'
import type {AttendResult, Projection} from '../types.js'

const options = z.object({
  stabilizer: z
    .enum(['log', 'none', 'norm-max'])
    .default('log')
    .describe('log: exact; none: no shift; norm-max: shifts by the largest |x|^2 of the sequence'),
  ...guardOptions,
})
type Options = z.output<typeof options>

/**
 * Hyperbolic features: positive features at +w and -w, so that the first-order noise cancels.
 *
 * `phi(x) = (2M)^(-1/2) exp(-|x|^2/2) [exp(W x), exp(-W x)]`, canonical x. Relative variance is
 * `(e^s - 2 + e^-s) / (2M)`, s = |x+y|^2, never above that of 2M positive features.
 *
 * Source: Choromanski et al. 2021, arXiv:2009.14794, Lemma 1.
 */
export default defineEstimator({
  name: 'favor-hyp',
  title: 'FAVOR+ hyperbolic features',
  citation: 'Choromanski et al. 2021, arXiv:2009.14794',
  formula: 'phi(x) = (2M)^(-1/2) exp(-|x|^2/2) [exp(W x), exp(-W x)]',
  advice:
    'Prefer it to favor-pos at the same featureDim: never worse, far better where x is near -y. Same limit on norms.',
  unbiasedFor: 'softmax-kernel',
  nonNegative: true,
  rowsSumToOne: true,
  supports: {bidirectional: true, causal: true, cross: true, decode: true, keyMask: true},
  keyOrderMatters: false,
  projection: {default: 'orth'},
  featureDim: numFeatures => 2 * numFeatures,
  options,
  inputs: () => 'canonical',
  target: softmaxTarget,
  kernel: {
    formula: () => 'exp(x.y)',
    moments: (x, y, {numFeatures}) => averaged(hyperbolicRow(x, y), numFeatures),
    features: hyperbolicFeatures,
    idle: ({stabilizer}) => ({
      ...GUARDS_IDLE,
      stabilizer:
        stabilizer === 'norm-max' ? SHIFT_CANCELS : 'it keeps features in range and no more',
    }),
  },
  varianceLaw: 'hyperbolic',
  cost: shape => featureCost(shape, 2 * shape.numFeatures, shape.numFeatures),
  stateBytes: ({numFeatures, valueDim}) => featureStateBytes(2 * numFeatures, valueDim),
  attend: inputs => (inputs.options.stabilizer === 'log' ? exact(inputs) : explicit(inputs)),
  decoder: inputs => {
    if (inputs.options.stabilizer === 'log') return positiveDecoder(inputs, 'log-hyperbolic')
    throw new RfaError(
      'UNSUPPORTED',
      `favor-hyp: expected stabilizer "log" for decoding, got "${inputs.options.stabilizer}"`,
      {suggestions: ['use --preset exact']},
    )
  },
  presets: {
    'fast-transformers': {
      options: {stabilizer: 'none', denGuard: 'add:1e-6'},
      quirk:
        'no stabiliser and 1e-6 on the denominator: rows shrink once the features do; overflows at large norms',
    },
    xformers: {
      options: {},
      quirk: 'its epsilon sits in the exponent and cancels: same result as the exact form',
    },
  },
})

function exact(inputs: AttendInputs<Options>): AttendResult {
  if (inputs.causal) return {out: causalPositiveAttention(inputs, 'log-hyperbolic')}
  const rows = inputs.projection!
  const bridges = tf.concat([rows, tf.neg(rows)] as tf.Tensor[], -2) as Projection
  return {out: positiveAttention(inputs, bridges)}
}

/** The forms of public libraries, features formed explicitly. */
function explicit(inputs: AttendInputs<Options>): AttendResult {
  const {value, causal, keyMask, projection, options} = inputs
  const {query, key} = scaledInputs(inputs)
  const features = (x: tf.Tensor4D): tf.Tensor4D => {
    const plain = hyperbolicFeatures(x, projection!)
    if (options.stabilizer === 'none') return plain
    const largest = tf.max(tf.sum(tf.square(x), -1, true), -2, true) // over the sequence
    return tf.mul(plain, tf.exp(tf.neg(largest)))
  }
  return featureAttention({
    queryFeatures: features(query),
    keyFeatures: features(key),
    value,
    causal,
    keyMask,
    guard: guardOf(options, causal),
  })
}

function hyperbolicFeatures(x: tf.Tensor4D, projection: Projection): tf.Tensor4D {
  const scale = (2 * projection.shape.at(-2)!) ** -0.5
  return tf.mul(tf.exp(featureMap(x, projection, 'log-hyperbolic')), scale)
}
