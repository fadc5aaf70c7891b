import {z} from 'zod'
import {tf} from '../../tf.js'
import {averaged} from '../../theory/moments.js'
import {differenceProduct} from '../../theory/row-product.js'
import {fourierRow, trigonometricRow} from '../../theory/rows.js'
import {defineFeatureMap, type PhiFacts} from '../forms/feature-map.js'
import {GUARDS_IDLE, guardOptions, SHIFT_CANCELS} from '../forms/options.js'
import {shiftedNorms} from '../forms/released/favor-trigonometric.js'
import {softmaxTarget} from '../forms/targets.js'
import {featureMap, halfSquaredNorm} from '../kernels/index.js'
import type {ExactTarget} from '../types.js'

/**
 * Trigonometric features of the softmax kernel: unbiased, signed, accurate where queries and keys
 * are close, unusable where weights are small.
 *
 * `phi(x) = M^(-1/2) exp(+|x|^2/2) [sin W x, cos W x]`, canonical x. Relative variance is
 * `(e^u - 2 + e^-u) / (2M)`, u = |x-y|^2.
 *
 * Source: Choromanski et al. 2021, arXiv:2009.14794, section 2.3 and Lemma 2.
 */
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

const kernel: PhiFacts<Options> = {
  formula({norms, constantFeature}) {
    const constant = constantFeature > 0 ? ` + ${constantFeature ** 2}` : ''
    return `${norms === 'none' ? 'exp(-|x-y|^2/2)' : 'exp(x.y)'}${constant}`
  },
  moments(x, y, {numFeatures, options: {norms, constantFeature}}) {
    const row = (norms === 'none' ? fourierRow : trigonometricRow)(x, y)
    // a constant shifts the mean and adds no variance
    return averaged({...row, mean: row.mean + constantFeature ** 2}, numFeatures)
  },
  product: differenceProduct,
  features(x, projection, {norms, constantFeature}) {
    const plain = featureMap(x, projection, 'trigonometric')
    // of both sides, unlike in attention, where that of a query cancels; overflows where |x|^2/2 passes 88
    const factor = tf.expandDims(tf.exp(halfSquaredNorm(x)), -1)
    return withConstant(norms === 'none' ? plain : tf.mul(plain, factor), constantFeature)
  },
  bounded: true,
  refuses: ({norms, constantFeature}) =>
    norms === 'max' && constantFeature > 0
      ? 'norms "max" makes constantFeature count by the largest norm of the sequence, and a pair by itself has no sequence (try norms=log)'
      : undefined,
  rowsBy: 'products',
  idle: ({norms}) => ({...GUARDS_IDLE, ...(norms === 'max' && {norms: SHIFT_CANCELS})}),
}

export default defineFeatureMap({
  name: 'favor-trig',
  title: 'FAVOR trigonometric features',
  citation: 'Choromanski et al. 2021, arXiv:2009.14794; Rahimi & Recht 2007',
  formula: 'phi(x) = M^(-1/2) exp(|x|^2/2) [sin W x, cos W x]',
  advice:
    'Use it at small norms (|x-y| below 1), where it beats positive features. At larger norms denominators turn negative and outputs explode.',
  unbiasedFor: 'softmax-kernel',
  nonNegative: false,
  refuses: ({norms}) => (norms === 'max' ? {decode: NO_DECODER} : {}),
  projection: {default: 'orth'},
  featureDim: (numFeatures, _headDim, {constantFeature}) =>
    2 * numFeatures + (constantFeature > 0 ? 1 : 0),
  options,
  inputs: () => 'canonical',
  target,
  kernel,
  varianceLaw: 'trigonometric',
  // without anything beside the features, which is the default
  cosineHead: (head, {norms, constantFeature, denGuard, causalDenGuard}) =>
    norms === 'log' && constantFeature === 0 && denGuard === 'none' && causalDenGuard === null
      ? head
      : undefined,
  phi({inputScale, projection, options}) {
    const {norms, constantFeature} = options
    const recipe = {kind: 'trigonometric', projection, inputScale} as const
    const features = (q: tf.Tensor4D): tf.Tensor4D => {
      const x: tf.Tensor4D = tf.mul(q, inputScale)
      const plain = featureMap(x, projection!, 'trigonometric')
      if (norms !== 'max') return withConstant(plain, constantOf(x, options))
      return withConstant(tf.mul(plain, shiftedNorms(x)), constantFeature)
    }
    const map = norms !== 'max' && constantFeature === 0 ? recipe : features
    if (norms !== 'log') return map
    // exp(|x|^2/2) of a query cancels; that of a key is kept by its logarithm, which does not overflow
    return {query: map, key: map, keyLogWeight: token => halfSquaredNorm(token, inputScale)}
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

const NO_DECODER =
  'expected norms "log" or "none" for decoding, got "max": its shift needs the whole sequence'

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

/** None where a constant is added and the kernel's shift depends on the call. */
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
