import * as tf from '@tensorflow/tfjs-core'
import {z} from 'zod'
import {RfaError} from '../../errors.js'
import {averaged} from '../../theory/moments.js'
import {fourierRow, trigonometricRow} from '../../theory/rows.js'
import {featureCost, featureStateBytes} from '../forms/costs.js'
import {featureDecoder} from '../forms/decoders/features.js'
import {type AttendInputs, defineEstimator, type KernelFacts} from '../forms/estimator.js'
import {featureAttention} from '../forms/feature-attention.js'
import {GUARDS_IDLE, guardOf, guardOptions, SHIFT_CANCELS} from '../forms/options.js'
import {softmaxTarget} from '../forms/targets.js'
import {type Features, featureMap, halfSquaredNorm} from '../kernels/index.js'
import type {AttendResult, ExactTarget} from '../types.js'

const options = z.object({
  norms: z
    .enum(['log', 'max', 'none'])
    .default('log')
    .describe(
      'factor exp(|x|^2/2): log keeps it exactly on keys; max puts it on both sides, shifted by its maximum over the sequence; none drops it (Gaussian kernel)',
    ),
  constantFeature: z
    .number()
    .nonnegative()
    .default(0)
    .describe(
      'adds its square to the kernel, by one more feature; with norms=max to the shifted kernel',
    ),
  ...guardOptions,
})
type Options = z.output<typeof options>

const kernel: KernelFacts<Options> = {
  formula({norms, constantFeature}) {
    const constant = constantFeature > 0 ? ` + ${constantFeature ** 2}` : ''
    return `${norms === 'none' ? 'exp(-|x-y|^2/2)' : 'exp(x.y)'}${constant}`
  },
  moments(x, y, {numFeatures, options: {norms, constantFeature}}) {
    const row = (norms === 'none' ? fourierRow : trigonometricRow)(x, y)
    return averaged({...row, mean: row.mean + constantFeature ** 2}, numFeatures)
  },
  features(x, projection, {norms, constantFeature}) {
    const plain = featureMap(x, projection, 'trigonometric')
    const factor = tf.expandDims(tf.exp(halfSquaredNorm(x)), -1)
    return withConstant(norms === 'none' ? plain : tf.mul(plain, factor), constantFeature)
  },
  bounded: true,
  refuses: ({norms, constantFeature}) =>
    norms === 'max' && constantFeature > 0
      ? 'norms "max" makes constantFeature count by the largest norm of the sequence, and a pair by itself has no sequence (try norms=log)'
      : undefined,
  idle: ({norms}) => ({...GUARDS_IDLE, ...(norms === 'max' && {norms: SHIFT_CANCELS})}),
}

/**
 * Trigonometric features of the softmax kernel: unbiased, signed, accurate where queries and keys
 * are close, unusable where weights are small.
 *
 * `phi(x) = M^(-1/2) exp(+|x|^2/2) [sin W x, cos W x]`, canonical x. Relative variance is
 * `(e^u - 2 + e^-u) / (2M)`, u = |x-y|^2.
 *
 * Source: Choromanski et al. 2021, arXiv:2009.14794, section 2.3 and Lemma 2.
 */
export default defineEstimator({
  name: 'favor-trig',
  title: 'FAVOR trigonometric features',
  citation: 'Choromanski et al. 2021, arXiv:2009.14794; Rahimi & Recht 2007',
  formula: 'phi(x) = M^(-1/2) exp(|x|^2/2) [sin W x, cos W x]',
  advice:
    'Use it at small norms (|x-y| below 1), where it beats positive features. At larger norms denominators turn negative and outputs explode.',
  unbiasedFor: 'softmax-kernel',
  nonNegative: false,
  rowsSumToOne: true,
  supports: {bidirectional: true, causal: true, cross: true, decode: true, keyMask: true},
  keyOrderMatters: false,
  projection: {default: 'orth'},
  featureDim: (numFeatures, _headDim, options) => featureDim(numFeatures, options),
  options,
  inputs: () => 'canonical',
  target,
  kernel,
  varianceLaw: 'trigonometric',
  cost: (shape, options) =>
    featureCost(shape, featureDim(shape.numFeatures, options), shape.numFeatures),
  stateBytes: ({numFeatures, valueDim}, options) =>
    featureStateBytes(featureDim(numFeatures, options), valueDim),
  attend,
  decoder: inputs => {
    const {projection, logitScale, options} = inputs
    if (options.norms === 'max') {
      throw new RfaError(
        'UNSUPPORTED',
        'favor-trig: expected norms "log" or "none" for decoding, got "max", whose shift needs the whole sequence',
        {suggestions: ['use --preset exact']},
      )
    }
    const inputScale = Math.sqrt(logitScale)
    const scale = (token: tf.Tensor4D): tf.Tensor4D => tf.mul(token, inputScale)
    const features = isPlain(options)
      ? ({kind: 'trigonometric', projection, inputScale} as const)
      : (token: tf.Tensor4D) => {
          const x = scale(token)
          return withConstant(featureMap(x, projection!, 'trigonometric'), constantOf(x, options))
        }
    return featureDecoder(
      inputs,
      featureDim(projection!.shape.at(-2)!, options),
      {
        query: features,
        key: features,
        ...(options.norms === 'log' && {keyLogWeight: token => halfSquaredNorm(token, inputScale)}),
      },
      {guard: guardOf(options, true)},
    )
  },
  presets: {
    'google-jax': {
      options: {norms: 'max', denGuard: 'nudge:1e-6'},
      quirk: 'denominators within 1e-6 of zero are nudged; negative ones divide as they are',
    },
    hku: {
      options: {norms: 'max', denGuard: 'clamp:1e-2'},
      quirk:
        'denominators below 0.01, negative ones included, become 0.01: rows no longer sum to one',
    },
    'fast-transformers': {
      options: {norms: 'none', denGuard: 'add:1e-6'},
      quirk: 'lacks the factor exp(|x|^2/2): the kernel is Gaussian, not softmax',
    },
  },
})

function attend(inputs: AttendInputs<Options>): AttendResult {
  const {query, key, value, inputScale, causal, keyMask, projection, options} = inputs
  const features = (raw: tf.Tensor4D): Features => {
    if (isPlain(options)) return {kind: 'trigonometric', x: raw, projection, inputScale}
    const x: tf.Tensor4D = tf.mul(raw, inputScale)
    const plain = featureMap(x, projection!, 'trigonometric')
    if (options.norms !== 'max') return withConstant(plain, constantOf(x, options))
    const halfNorm = tf.expandDims(halfSquaredNorm(x), -1)
    const factor = tf.exp(tf.sub(halfNorm, tf.max(halfNorm, -2, true)))
    return withConstant(tf.mul(plain, factor), options.constantFeature)
  }
  return featureAttention({
    queryFeatures: features(query),
    keyFeatures: features(key),
    value,
    causal,
    keyMask,
    keyLogWeight: options.norms === 'log' ? halfSquaredNorm(key, inputScale) : undefined,
    guard: guardOf(options, causal),
  })
}

/** Whether the features are those of the recipe: nothing multiplied, nothing appended. */
function isPlain({norms, constantFeature}: Options): boolean {
  return norms !== 'max' && constantFeature === 0
}

/** Appends a feature, `[.., F]` to `[.., F + 1]`: everywhere the same, or `[B, H, n, 1]`. */
function withConstant(features: tf.Tensor4D, constant: number | tf.Tensor): tf.Tensor4D {
  if (constant === 0) return features
  const [batch, heads, length] = features.shape
  const column =
    typeof constant === 'number' ? tf.fill([batch, heads, length, 1], constant) : constant
  return tf.concat([features, column], 3) as tf.Tensor4D
}

/** The feature that adds c^2 to the kernel: `c exp(-|x|^2/2)` where features lack the factor exp(|x|^2/2). */
function constantOf(x: tf.Tensor4D, {norms, constantFeature}: Options): number | tf.Tensor {
  if (norms !== 'log' || constantFeature === 0) return constantFeature
  return tf.mul(tf.expandDims(tf.exp(tf.neg(halfSquaredNorm(x))), -1), constantFeature)
}

function featureDim(numFeatures: number, {constantFeature}: Options): number {
  return 2 * numFeatures + (constantFeature > 0 ? 1 : 0)
}

/** None where a constant is added to a kernel whose shift depends on the call. */
function target({norms, constantFeature}: Options): ExactTarget | undefined {
  const plain: ExactTarget =
    norms === 'none'
      ? {kernel: 'gaussian', inputs: 'canonical', inputScale: 1, label: 'Gaussian kernel'}
      : softmaxTarget()
  if (constantFeature === 0) return plain
  if (norms === 'max') return undefined
  const constant = constantFeature ** 2
  return {...plain, constant, label: `${plain.label}, ${constant.toPrecision(3)} added to weights`}
}
