import * as tf from '@tensorflow/tfjs-core'
import {z} from 'zod'
import {RfaError} from '../../errors.js'
import {averaged} from '../../theory/moments.js'
import {positiveRow, shiftedExponentialRow} from '../../theory/rows.js'
import {featureCost, featureStateBytes} from '../forms/costs.js'
import {type AttendInputs, defineEstimator, type KernelFacts} from '../forms/estimator.js'
import {featureAttention, scaledInputs} from '../forms/feature-attention.js'
import {
  featureEpsilon,
  GUARDS_IDLE,
  guardOf,
  guardOptions,
  LOG_HAS_NO_FEATURES,
  NORMALIZER_IDLE,
  normalizerEpsilon,
  SHIFT_CANCELS,
  SHIFTED_EPSILON,
} from '../forms/options.js'
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
    .enum(['log', 'max', 'none'])
    .default('log')
    .describe('log: exact, in the log domain; max: shifts by maxima of W x; none: no shift'),
  featureEpsilon,
  epsilonPlace: z
    .enum(['inside', 'outside'])
    .default('inside')
    .describe('whether featureEpsilon is added before or after the factor M^-1/2'),
  featureScale: z
    .enum(['rsqrt', 'none'])
    .default('rsqrt')
    .describe('factor M^-1/2 on features; matters only beside a guard or an epsilon'),
  normalizerEpsilon,
  ...guardOptions,
})
type Options = z.output<typeof options>

const kernel: KernelFacts<Options> = {
  formula({stabilizer, featureEpsilon, epsilonPlace, featureScale}) {
    if (stabilizer === 'log') return 'exp(x.y)'
    const count = featureScale === 'none' ? 'M ' : ''
    if (featureEpsilon === 0) return `${count}exp(x.y)`
    const place = epsilonPlace === 'outside' && featureScale === 'rsqrt' ? 'M^(1/2) ' : ''
    const epsilon = `${place}${featureEpsilon}`
    return `${count}(exp(x.y) + 2 e + e^2), e = ${epsilon}`
  },
  moments(x, y, {numFeatures, options}) {
    const {epsilon, factor} = shiftOf(options, numFeatures)
    const row = epsilon === 0 ? positiveRow(x, y) : shiftedExponentialRow(x, y, epsilon, 1)
    return averaged(row, numFeatures, factor)
  },
  features: (x, projection, options) =>
    shiftedFeatures(
      x,
      projection,
      options.stabilizer === 'log' ? LOG_FORM : {...options, stabilizer: 'none'},
      'row',
    ),
  refuses: ({stabilizer, featureEpsilon}) =>
    stabilizer === 'max' && featureEpsilon > 0 ? SHIFTED_EPSILON : undefined,
  idle: ({stabilizer, featureEpsilon, featureScale}) => ({
    ...GUARDS_IDLE,
    ...NORMALIZER_IDLE,
    ...(featureEpsilon === 0 &&
      featureScale === 'rsqrt' && {
        stabilizer: stabilizer === 'max' ? SHIFT_CANCELS : 'it keeps features in range and no more',
      }),
    ...(stabilizer === 'log' && {
      featureEpsilon: LOG_HAS_NO_FEATURES,
      featureScale: LOG_HAS_NO_FEATURES,
      epsilonPlace: LOG_HAS_NO_FEATURES,
    }),
    ...(featureEpsilon === 0 && {epsilonPlace: 'featureEpsilon is 0'}),
    ...(stabilizer !== 'log' &&
      featureScale === 'none' && {epsilonPlace: 'featureScale "none" leaves no factor between'}),
  }),
}

/** What the log-domain form computes. */
const LOG_FORM = {
  stabilizer: 'none',
  featureEpsilon: 0,
  epsilonPlace: 'inside',
  featureScale: 'rsqrt',
} as const

/** The estimate as `factor / M` times a sum over rows of `(e^{..} + epsilon) (e^{..} + epsilon)`. */
function shiftOf(
  {stabilizer, featureEpsilon, epsilonPlace, featureScale}: Options,
  numFeatures: number,
) {
  if (stabilizer === 'log') return {epsilon: 0, factor: 1}
  const scale = featureScale === 'rsqrt' ? numFeatures ** -0.5 : 1
  return {
    epsilon: epsilonPlace === 'inside' ? featureEpsilon : featureEpsilon / scale,
    factor: numFeatures * scale ** 2,
  }
}

/**
 * Positive random features: an unbiased, never-negative estimate of the softmax kernel.
 *
 * `phi(x)_s = M^(-1/2) exp(w_s.x - |x|^2/2)`, rows `w_s ~ N(0, I)`, canonical x. Relative variance is
 * `(exp(|x+y|^2) - 1) / M`: keep norms near 1 or raise M.
 *
 * Source: Choromanski et al. 2021, arXiv:2009.14794, Lemma 1 (variance: Lemma 2).
 */
export default defineEstimator({
  name: 'favor-pos',
  title: 'FAVOR+ positive features',
  citation: 'Choromanski et al. 2021, arXiv:2009.14794',
  formula: 'phi(x) = M^(-1/2) exp(W x - |x|^2/2)',
  advice:
    'Use it while exp(E|x+y|^2) stays near M or below: weights are never negative and rows sum to one. At larger norms it is worse than averaging V.',
  unbiasedFor: 'softmax-kernel',
  nonNegative: true,
  rowsSumToOne: true,
  supports: {bidirectional: true, causal: true, cross: true, decode: true, keyMask: true},
  keyOrderMatters: false,
  projection: {default: 'orth'},
  featureDim: numFeatures => numFeatures,
  options,
  inputs: () => 'canonical',
  target: softmaxTarget,
  kernel,
  varianceLaw: 'positive',
  cost: shape => featureCost(shape, shape.numFeatures, shape.numFeatures),
  stateBytes: ({numFeatures, valueDim}) => featureStateBytes(numFeatures, valueDim),
  attend: inputs => (inputs.options.stabilizer === 'log' ? exact(inputs) : explicit(inputs)),
  decoder: inputs => {
    if (inputs.options.stabilizer !== 'log') throw noDecoder(inputs.options.stabilizer)
    return positiveDecoder(inputs, 'log-positive')
  },
  presets: {
    'performer-pytorch': {
      options: {stabilizer: 'max', featureEpsilon: 1e-4, normalizerEpsilon: 1e-6},
      quirk:
        'adds 1e-4 to every feature: at ordinary norms the output collapses to the mean of V; the causal key maximum sees the future',
    },
    'google-jax': {
      options: {stabilizer: 'max', featureEpsilon: 1e-6, denGuard: 'nudge:1e-6'},
      quirk: 'adds 1e-6 to every feature; the causal key maximum sees the future',
    },
    'google-slim': {
      options: {stabilizer: 'none', featureScale: 'none', denGuard: 'add:1e-16'},
      quirk: 'no stabiliser: features overflow float32 once w.x - |x|^2/2 passes 88',
    },
    hku: {
      options: {
        stabilizer: 'max',
        featureEpsilon: 1e-4,
        epsilonPlace: 'outside',
        denGuard: 'clamp:1e-2',
      },
      quirk:
        'epsilon outside M^-1/2 and denominators raised to 0.01: at ordinary norms every row is a shrunken mean of V',
    },
    xformers: {
      options: {},
      quirk: 'its epsilon sits in the exponent and cancels: same result as the exact form',
    },
  },
})

function exact(inputs: AttendInputs<Options>): AttendResult {
  if (inputs.causal) return {out: causalPositiveAttention(inputs, 'log-positive')}
  return {out: positiveAttention(inputs, inputs.projection!)}
}

/** The forms of public libraries: features are formed, shifted and summed explicitly. */
function explicit(inputs: AttendInputs<Options>): AttendResult {
  const {value, causal, keyMask, projection, options} = inputs
  const {query, key} = scaledInputs(inputs)
  return featureAttention({
    queryFeatures: shiftedFeatures(query, projection!, options, 'row'),
    keyFeatures: shiftedFeatures(key, projection!, options, 'head'),
    value,
    causal,
    keyMask,
    guard: guardOf(options, causal),
    normalizerEpsilon: options.normalizerEpsilon,
  })
}

/** Options on how features are formed. */
type FeatureOptions = Pick<
  Options,
  'stabilizer' | 'featureEpsilon' | 'epsilonPlace' | 'featureScale'
>

/**
 * `scale (exp(W x - |x|^2/2 - shift) + epsilon)`, where the shift is the maximum of W x over the
 * features of a row, or over all rows of a head.
 */
function shiftedFeatures(
  x: tf.Tensor4D,
  projection: Projection,
  {stabilizer, featureEpsilon, epsilonPlace, featureScale}: FeatureOptions,
  shiftOver: 'row' | 'head',
): tf.Tensor4D {
  let logits = featureMap(x, projection, 'log-positive')
  if (stabilizer === 'max') {
    const halfNorm = tf.mul(tf.sum(tf.square(x), -1, true), 0.5)
    const projected = tf.add(logits, halfNorm)
    const shift = tf.max(projected, shiftOver === 'row' ? -1 : [-2, -1], true)
    logits = tf.sub(logits, shift)
  }
  const scale = featureScale === 'rsqrt' ? projection.shape.at(-2)! ** -0.5 : 1
  const features = tf.exp(logits) as tf.Tensor4D
  return epsilonPlace === 'inside'
    ? tf.mul(tf.add(features, featureEpsilon), scale)
    : tf.add(tf.mul(features, scale), featureEpsilon)
}

function noDecoder(stabilizer: string): RfaError {
  return new RfaError(
    'UNSUPPORTED',
    `favor-pos: expected stabilizer "log" for decoding, got "${stabilizer}", whose key maximum needs the whole sequence`,
    {suggestions: ['use --preset exact']},
  )
}
