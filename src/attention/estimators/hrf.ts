import * as tf from '@tensorflow/tfjs-core'
import {z} from 'zod'
import {angularHybridMoments} from '../../theory/hybrid.js'
import {angularHybrid} from '../forms/angular-hybrid.js'
import {featureCost, featureStateBytes} from '../forms/costs.js'
import {featureDecoder} from '../forms/decoders/features.js'
import {extendedDecoder} from '../forms/decoders/stateful.js'
import type {DecoderInputs} from '../forms/estimator.js'
import {type AttendInputs, defineEstimator} from '../forms/estimator.js'
import {featureAttention, scaledInputs} from '../forms/feature-attention.js'
import type {NoiseSpec} from '../forms/noise.js'
import {GUARDS_IDLE, guardOf, guardOptions} from '../forms/options.js'
import {softmaxTarget} from '../forms/targets.js'
import type {AttendResult, Decoder} from '../types.js'

const options = z.object({
  signFeatures: z
    .number()
    .int()
    .positive()
    .default(2)
    .describe('n, sign vectors that estimate the angle; features and cost grow by 1 + n'),
  lambdaOn: z
    .enum(['positive', 'trigonometric'])
    .default('positive')
    .describe(
      'which estimate the share angle/pi weights: positive is exact at both ends; trigonometric, as in the authors’ notebook, is unbiased too but worst there',
    ),
  ...guardOptions,
})
type Options = z.output<typeof options>

/**
 * Hybrid random features, angular: hyperbolic and trigonometric estimates of the softmax kernel mixed by
 * an estimate of the angle between query and key. Unbiased, since the sign vectors are independent of
 * W; exact for equal directions of equal length and for opposite ones.
 *
 * `K = lambda K_hyp + (1 - lambda) K_trig`, `lambda = 1/2 - sum_t sgn(tau_t.x) sgn(tau_t.y) / (2n)`, whose
 * mean is angle/pi; rows of W and tau are N(0, I), canonical x. Weights can be negative.
 *
 * Source: Choromanski et al. 2022, arXiv:2110.04367, section 2.
 */
export default defineEstimator({
  name: 'hrf',
  title: 'Hybrid random features (angular)',
  citation: 'Choromanski et al. 2022, arXiv:2110.04367',
  formula:
    'K = lambda K_hyp + (1 - lambda) K_trig, lambda = 1/2 - sum_t sgn(tau_t.x) sgn(tau_t.y) / (2n)',
  advice:
    'Use it where both very small and very large weights must be accurate, at small norms. It costs 1 + n times as much as its parts, and weights can be negative.',
  unbiasedFor: 'softmax-kernel',
  nonNegative: false,
  rowsSumToOne: true,
  supports: {bidirectional: true, causal: true, cross: true, decode: true, keyMask: true},
  keyOrderMatters: false,
  projection: {default: 'orth'},
  noise: ({headDim}, {signFeatures}) => ({tau: tauSpec(headDim, signFeatures)}),
  featureDim: (numFeatures, _headDim, options) => featureDim(numFeatures, options),
  options,
  inputs: () => 'canonical',
  target: softmaxTarget,
  kernel: {
    formula: () => 'exp(x.y)',
    moments: (x, y, {numFeatures, options: {signFeatures, lambdaOn}}) =>
      angularHybridMoments(x, y, numFeatures, signFeatures, lambdaOn === 'trigonometric'),
    features: (x, projection, {lambdaOn}, {side, noise}) => {
      const draw = {projection, tau: noise.tau!, side, lambdaOn}
      const {features, logScale} = angularHybrid(x, draw)
      return tf.mul(features, tf.expandDims(tf.exp(logScale), -1))
    },
    idle: () => GUARDS_IDLE,
  },
  cost: (shape, options) =>
    featureCost(
      shape,
      featureDim(shape.numFeatures, options),
      2 * shape.numFeatures + options.signFeatures, // W twice, tau
    ),
  stateBytes: ({numFeatures, valueDim}, options) =>
    featureStateBytes(featureDim(numFeatures, options), valueDim),
  attend,
  decoder,
  presets: {},
})

function featureDim(numFeatures: number, {signFeatures}: Options): number {
  return 4 * numFeatures * (1 + signFeatures)
}

function tauSpec(headDim: number, signFeatures: number): NoiseSpec {
  return {distribution: 'normal', rows: signFeatures, columns: headDim, shared: true}
}

function attend(inputs: AttendInputs<Options>): AttendResult {
  const {value, causal, keyMask, projection, noise, options} = inputs
  const {query, key} = scaledInputs(inputs)
  const draw = {projection: projection!, tau: noise.tau!, lambdaOn: options.lambdaOn}
  const keys = angularHybrid(key, {...draw, side: 'key'})
  return featureAttention({
    queryFeatures: angularHybrid(query, {...draw, side: 'query'}).features, // its scale cancels
    keyFeatures: keys.features,
    keyLogWeight: keys.logScale,
    value,
    causal,
    keyMask,
    guard: guardOf(options, causal),
  })
}

function decoder(inputs: DecoderInputs<Options>): Decoder {
  const {headDim, logitScale, projection, options} = inputs
  const tau = tf.keep(inputs.noiseRows('tau', tauSpec(headDim, options.signFeatures), 0))
  const features = (token: tf.Tensor4D, side: 'query' | 'key') =>
    angularHybrid(tf.mul(token, Math.sqrt(logitScale)), {
      projection: projection!,
      tau,
      side,
      lambdaOn: options.lambdaOn,
    })
  const inner = featureDecoder(
    inputs,
    featureDim(projection!.shape.at(-2)!, options),
    {
      query: token => features(token, 'query').features,
      key: token => features(token, 'key').features,
      keyLogWeight: token => features(token, 'key').logScale,
    },
    {guard: guardOf(options, true)},
  )
  return extendedDecoder(inner, [tau])
}
