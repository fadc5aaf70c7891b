/** Optimal positive features as TensorFlow Model Garden's `expplus` computes them: formed, shifted and summed explicitly. */

import {z} from 'zod'
import {tf} from '../../../tf.js'
import {halfSquaredNorm} from '../../kernels/index.js'
import {matMul} from '../../kernels/mat-mul.js'
import type {AttendResult, CalibrationPairs} from '../../types.js'
import type {AttendInputs, KernelFacts} from '../estimator.js'
import {exponentialFeatures} from '../exponential/features.js'
import {type HeadMoments, momentsOf, sampleOf} from '../exponential/moments.js'
import {meanSum2, scalarExponent} from '../exponential/parameters.js'
import {featureAttention, scaledInputs} from '../feature-attention.js'
import {
  featureEpsilon,
  GUARDS_IDLE,
  GUARDS_UNUSED,
  guardOf,
  guardOptions,
  LOG_HAS_NO_FEATURES,
  SHIFT_CANCELS,
  SHIFTED_EPSILON,
} from '../options.js'

/** What is done to features where they are formed. */
export const releasedOptions = {
  stabilizer: z
    .enum(['log', 'max'])
    .default('log')
    .describe(
      'log: exact, in the log domain, where epsilons and guards do nothing; max: shifts by maxima of W x',
    ),
  sums: z
    .enum(['pairs', 'own-length'])
    .default('pairs')
    .describe(
      'with max only: own-length divides both sums of squares by the number of tokens of the mapped side',
    ),
  scaledTwice: z
    .boolean()
    .default(false)
    .describe('with max only: x and y times D^(-1/4) once more'),
  featureEpsilon,
}
/** What does nothing while features are never formed. */
export const LOG_UNUSED = {
  featureEpsilon: LOG_HAS_NO_FEATURES,
  sums: LOG_HAS_NO_FEATURES,
  scaledTwice: LOG_HAS_NO_FEATURES,
  ...GUARDS_UNUSED,
}

const schema = z.object({...releasedOptions, ...guardOptions})

/** Options of this form. */
type ReleasedOptions = z.output<typeof schema> & {a: number | null; prefix: number}

/**
 * `M^(-1/2) D0 (exp(A|w|^2 + B w.x - |x|^2/2 - B m) + epsilon)`, B = (1-4A)^(1/2), m the maximum of w.x over the
 * features of a query, or over all features of all keys of all heads.
 *
 * @param rule - A of the mean of |x+y|^2 per dimension
 */
export function releasedAttention(
  inputs: AttendInputs<ReleasedOptions>,
  rule: (t: number) => number,
): AttendResult {
  const {value, causal, keyMask, options} = inputs
  const headDim = inputs.query.shape[3]
  const inputScale = inputs.inputScale * (options.scaledTwice ? headDim ** -0.25 : 1)
  const own = options.sums === 'own-length'
  const sample = own ? {query: inputs.query, key: inputs.key} : sampleOf(inputs)
  const moments = momentsOf(sample, inputScale, 'diagonal')
  // both sides divide their sums by the number of tokens of the side at hand
  const ratio = inputs.key.shape[2] / inputs.query.shape[2]
  const {query, key} = scaledInputs({...inputs, inputScale})
  const featuresOf = (x: tf.Tensor4D, side: 'query' | 'key') => {
    const exponents = moments.map(head => {
      const sum2 = own ? ownSum2(head, side, ratio) : meanSum2(head)
      return options.a ?? scalarExponent(sum2, headDim, rule)
    })
    return shiftedFeatures(x, inputs, exponents, side)
  }
  return featureAttention({
    queryFeatures: featuresOf(query, 'query'),
    keyFeatures: featuresOf(key, 'key'),
    value,
    causal,
    keyMask,
    guard: guardOf(options, causal),
  })
}

/**
 * The mean of |x+y|^2 with both sums divided by the number of tokens of one side: right for equal numbers of
 * keys and queries.
 *
 * @param ratio - keys per query
 */
function ownSum2({mean, squares}: HeadMoments, side: 'query' | 'key', ratio: number): number {
  const other = side === 'query' ? 'key' : 'query'
  const factor = side === 'query' ? ratio : 1 / ratio
  const sum = (values: Float64Array) => values.reduce((total, value) => total + value, 0)
  const cross = mean.query.reduce((dot, x, d) => dot + x * mean.key[d]!, 0)
  return sum(squares[side]) + factor * (sum(squares[other]) + 2 * cross)
}

/** Features of canonical x with one exponent per head. */
function shiftedFeatures(
  x: tf.Tensor4D,
  {projection, options}: AttendInputs<ReleasedOptions>,
  exponents: readonly number[],
  side: 'query' | 'key',
): tf.Tensor4D {
  const [batch, heads, length, headDim] = x.shape
  const sizes = {batch, heads, headDim}
  const parameters = exponents.map(exponent => ({exponent}))
  const {bridges, logWeight, logConstant} = exponentialFeatures(projection!, parameters, sizes)
  const count = bridges.shape[2]
  const rows = batch * heads
  const projected = tf.reshape(
    matMul(
      tf.reshape(x, [rows, length, headDim]),
      tf.reshape(bridges, [rows, count, headDim]),
      false,
      true,
    ),
    [batch, heads, length, count],
  )
  const numbers = exponents.map(a => Math.sqrt(1 - 4 * a))
  const roots = tf.tensor4d(numbers, [batch, heads, 1, 1])
  // of keys: the maximum of w.x over everything, times the B of each head
  const shift =
    side === 'query' ? tf.max(projected, -1, true) : tf.mul(tf.max(tf.div(projected, roots)), roots)
  const halfNorm = tf.expandDims(halfSquaredNorm(x), -1)
  const logs = tf.sub(tf.add(projected, tf.expandDims(logWeight, 2)), halfNorm)
  const features = tf.add(tf.exp(tf.sub(logs, shift)), options.featureEpsilon)
  return tf.mul(features, tf.mul(tf.exp(logConstant), count ** -0.5))
}

/** x times this is what features are formed of. */
function secondScale({stabilizer, scaledTwice}: ReleasedOptions, headDim: number): number {
  return stabilizer === 'max' && scaledTwice ? headDim ** -0.25 : 1
}

/**
 * The features of a pair, as in the exact form; the vectors may have been scaled once more. A shift by maxima
 * cancels; an epsilon with it is relative to the largest feature of a sequence, which a pair lacks.
 */
export function releasedKernel<Options extends ReleasedOptions>(
  exact: KernelFacts<Options>,
): KernelFacts<Options> {
  return {
    formula: ({stabilizer, scaledTwice}) =>
      stabilizer === 'max' && scaledTwice ? 'exp(x.y / D^(1/2))' : 'exp(x.y)',
    moments(x, y, draw) {
      const factor = secondScale(draw.options, x.length)
      const calibration = scaledPairs(draw.calibration, factor)
      return exact.moments(times(factor)(x), times(factor)(y), {...draw, calibration})
    },
    features(x, projection, options, draw) {
      const factor = secondScale(options, draw.headDim ?? x.shape[3])
      const calibration = scaledPairs(draw.calibration, factor)
      return exact.features(tf.mul(x, factor), projection, options, {...draw, calibration})
    },
    tilt(x, y, draw) {
      const factor = secondScale(draw.options, x.length)
      const calibration = scaledPairs(draw.calibration, factor)
      return exact.tilt?.(times(factor)(x), times(factor)(y), {...draw, calibration})
    },
    refuses: ({stabilizer, featureEpsilon}) =>
      stabilizer === 'max' && featureEpsilon > 0 ? SHIFTED_EPSILON : undefined,
    idle: options => ({...exact.idle(options), ...releasedIdle(options)}),
  }
}

function releasedIdle({stabilizer, scaledTwice, a}: ReleasedOptions) {
  return {
    ...GUARDS_IDLE,
    ...(!(stabilizer === 'max' && scaledTwice) && {stabilizer: SHIFT_CANCELS}),
    ...(stabilizer === 'log' && LOG_UNUSED),
    ...(stabilizer === 'max' && {
      sums: 'it changes nothing with equal numbers of keys and queries',
    }),
    ...(a !== null && {rule: 'a is given', sums: 'a is given'}),
  }
}

const times = (factor: number) => (x: Float64Array) => (factor === 1 ? x : x.map(e => e * factor))

/** Calibration pairs that are scaled twice, made once for all calls of a cell. */
const twice = new WeakMap<CalibrationPairs, CalibrationPairs>()
function scaledPairs(pairs: CalibrationPairs, factor: number): CalibrationPairs {
  if (factor === 1) return pairs
  const before = twice.get(pairs)
  if (before) return before
  const made = {query: pairs.query.map(times(factor)), key: pairs.key.map(times(factor))}
  twice.set(pairs, made)
  return made
}
