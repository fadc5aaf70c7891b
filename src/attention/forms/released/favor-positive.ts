/** Positive features as the Performer's codes compute them: formed, shifted and summed explicitly, epsilons added. */

import {z} from 'zod'
import {tf} from '../../../tf.js'
import {averaged} from '../../../theory/moments.js'
import {sumProduct} from '../../../theory/row-product.js'
import {positiveRow, shiftedExponentialRow} from '../../../theory/rows.js'
import {featureMap} from '../../kernels/index.js'
import type {Projection} from '../../types.js'
import type {TokenFeatures} from '../decoders/tokens.js'
import type {KernelFacts} from '../estimator.js'
import type {PhiInputs} from '../feature-map.js'
import {
  featureEpsilon,
  GUARDS_IDLE,
  GUARDS_UNUSED,
  LOG_HAS_NO_FEATURES,
  NORMALIZER_IDLE,
  normalizerEpsilon,
  SHIFT_CANCELS,
  SHIFTED_EPSILON,
} from '../options.js'

/** What is done to features where they are formed. */
export const releasedOptions = {
  stabilizer: z
    .enum(['log', 'max', 'none'])
    .default('log')
    .describe(
      'log: exact, in the log domain, where epsilons and guards do nothing; max: shifts by maxima of W x; none: no shift',
    ),
  featureEpsilon,
  epsilonPlace: z
    .enum(['inside', 'outside'])
    .default('inside')
    .describe('whether featureEpsilon is added before or after the factor M^-1/2'),
  featureScale: z
    .enum(['rsqrt', 'none'])
    .default('rsqrt')
    .describe('factor M^-1/2 on features; matters only with a guard or an epsilon'),
  normalizerEpsilon,
}
/** What does nothing while features are never formed. */
export const LOG_UNUSED = {
  featureEpsilon: LOG_HAS_NO_FEATURES,
  epsilonPlace: LOG_HAS_NO_FEATURES,
  featureScale: LOG_HAS_NO_FEATURES,
  normalizerEpsilon: LOG_HAS_NO_FEATURES,
  ...GUARDS_UNUSED,
}

const schema = z.object(releasedOptions)
type Options = z.output<typeof schema>

/**
 * Features of whole sequences: the shift of a key is the maximum over all keys, so it cannot be found token by token.
 */
export function releasedPhi({inputScale, projection, options}: PhiInputs<Options>): TokenFeatures {
  const side = (shiftOver: 'row' | 'head') => (q: tf.Tensor4D) =>
    shiftedFeatures(tf.mul(q, inputScale), projection!, options, shiftOver)
  return {query: side('row'), key: side('head')}
}

/**
 * `scale (exp(W x - |x|^2/2 - shift) + epsilon)`, where the shift is the maximum of W x over the
 * features of a row, or over all rows of a head.
 */
function shiftedFeatures(
  x: tf.Tensor4D,
  projection: Projection,
  {stabilizer, featureEpsilon, epsilonPlace, featureScale}: Omit<Options, 'normalizerEpsilon'>,
  shiftOver: 'row' | 'head',
): tf.Tensor4D {
  let logits = featureMap(x, projection, 'log-positive')
  if (stabilizer === 'max') {
    const halfNorm = tf.mul(tf.sum(tf.square(x), -1, true), 0.5)
    const projected = tf.add(logits, halfNorm) // W x again
    // exp(. - shift) is at most 1, so nothing overflows; a shift over all keys lets small ones underflow, and
    // what is added afterwards counts by the largest
    const shift = tf.max(projected, shiftOver === 'row' ? -1 : [-2, -1], true)
    logits = tf.sub(logits, shift)
  }
  const scale = featureScale === 'rsqrt' ? projection.shape.at(-2)! ** -0.5 : 1
  const features = tf.exp(logits) as tf.Tensor4D
  return epsilonPlace === 'inside'
    ? tf.mul(tf.add(features, featureEpsilon), scale)
    : tf.add(tf.mul(features, scale), featureEpsilon)
}

/** What the log-domain form computes. */
const LOG_FORM = {
  stabilizer: 'none',
  featureEpsilon: 0,
  epsilonPlace: 'inside',
  featureScale: 'rsqrt',
} as const

/** What products of these features estimate; features of single vectors and idle options for the exact form too. */
export const releasedKernel: KernelFacts<Options> = {
  formula({featureEpsilon, epsilonPlace, featureScale}) {
    const count = featureScale === 'none' ? 'M ' : ''
    if (featureEpsilon === 0) return `${count}exp(x.y)`
    const place = epsilonPlace === 'outside' && featureScale === 'rsqrt' ? 'M^(1/2) ' : ''
    const epsilon = `${place}${featureEpsilon}`
    return `${count}(exp(x.y) + 2 e + e^2), e = ${epsilon}`
  },
  moments(x, y, {numFeatures, options}) {
    // (e^{w.x - |x|^2/2} + e) (e^{w.y - |y|^2/2} + e) has the mean exp(x.y) + 2 e + e^2
    const {epsilon, factor} = shiftOf(options, numFeatures)
    const row = epsilon === 0 ? positiveRow(x, y) : shiftedExponentialRow(x, y, epsilon, 1)
    return averaged(row, numFeatures, factor)
  },
  product: (x, y, {featureEpsilon}) => (featureEpsilon === 0 ? sumProduct('exp', x, y) : undefined),
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

/** The estimate as `factor / M` times a sum over rows of `(e^{..} + epsilon) (e^{..} + epsilon)`. */
function shiftOf({featureEpsilon, epsilonPlace, featureScale}: Options, numFeatures: number) {
  const scale = featureScale === 'rsqrt' ? numFeatures ** -0.5 : 1
  return {
    epsilon: epsilonPlace === 'inside' ? featureEpsilon : featureEpsilon / scale,
    factor: numFeatures * scale ** 2,
  }
}
