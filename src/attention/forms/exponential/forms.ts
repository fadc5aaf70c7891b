/** The forms that every estimator with generalised exponential features has in common. */

import {z} from 'zod'
import {expected, type RfaError} from '../../../errors.js'
import {tf} from '../../../tf.js'
import {softmaxKernel} from '../../../theory/kernels.js'
import {averaged, type Moments, relativeKurtosis} from '../../../theory/moments.js'
import type {PositiveHead} from '../../../theory/ratio-error/types.js'
import type {
  AttendResult,
  CalibrationPairs,
  CallShape,
  Cost,
  Decoder,
  InputSpace,
  Projection,
} from '../../types.js'
import {
  type AttendInputs,
  type DecoderInputs,
  EVERY_FORM,
  type KernelFacts,
  type RowChoice,
} from '../estimator.js'
import {featureSizes} from '../feature-map.js'
import {normBias, positiveAttention} from '../positive-attention.js'
import {bridgeRows} from '../row-weights.js'
import {softmaxTarget} from '../targets.js'
import {
  applied,
  causalExponentialAttention,
  type ExponentialFeatures,
  exponentialDecoder,
  exponentialFeatures,
  logExponential,
} from './features.js'
import {type HeadMoments, type MomentKind, momentsOf, type Sample, sampleOf} from './moments.js'
import {type HeadParameters, relativeLogMoment, rowTilt} from './parameters.js'
import {positiveHead} from './positive-head.js'

/** Tokens that a causal call calibrates on by default. */
const PREFIX = 64

/** Options of every estimator with generalised exponential features. */
export const exponentialOptions = {
  prefix: z
    .int()
    .nonnegative()
    .default(PREFIX)
    .describe(
      'causal only, without calibration: number of first queries and keys that statistics come from; 0: all, which sees the future',
    ),
}

/** Added to second moments before they are divided by or inverted. */
export const ridgeOption = z
  .number()
  .min(1e-6)
  .default(1e-3)
  .describe(
    'added to second moments, times their mean over dimensions, before one divides by another',
  )

/** How parameters follow from statistics. */
export interface ExponentRule<Options> {
  name: string
  /** Which moments they need. */
  moments(options: Options): MomentKind
  /** Of one head with D dimensions. */
  parameters(moments: HeadMoments, options: Options): HeadParameters
}

/** One exponential per row of the projection. */
function featureDim(numFeatures: number): number {
  return numFeatures
}

const sizes = featureSizes<unknown>(featureDim, numFeatures => numFeatures)

/** Facts that hold for all of them. */
export const exponentialFacts = {
  unbiasedFor: 'softmax-kernel',
  nonNegative: true,
  rowsSumToOne: true,
  supports: EVERY_FORM,
  keyOrderMatters: false,
  projection: {default: 'orth'},
  calibrates: true,
  featureDim,
  inputs: (): InputSpace => 'canonical',
  target: softmaxTarget,
  stateBytes: sizes.stateBytes,
  presets: {},
} as const

/**
 * Positive features and the passes over tokens that statistics and maps take.
 *
 * @param passes - in multiply-adds per token and dimension
 */
export function exponentialCost(shape: CallShape, passes: number): Cost {
  const {batch, heads, queryLen, keyLen, headDim} = shape
  const {flops} = sizes.cost(shape, undefined)
  const tokens = batch * heads * (queryLen + keyLen) * headDim
  return {flops: flops + 2 * passes * tokens}
}

/** Attention, recurrence and kernel facts from a rule. */
export function exponentialForms<Options extends {prefix: number}>(rule: ExponentRule<Options>) {
  const featuresFrom = (
    sample: Sample,
    scale: number,
    projection: Projection,
    options: Options,
  ): ExponentialFeatures => {
    const [batch, heads, , headDim] = sample.query.shape
    const moments = momentsOf(sample, scale, rule.moments(options))
    const parameters = parametersOf(moments, head => rule.parameters(head, options))
    return exponentialFeatures(projection, parameters, {batch, heads, headDim})
  }
  return {
    attend(inputs: AttendInputs<Options>): AttendResult {
      const {inputScale, projection, options} = inputs
      const features = featuresFrom(sampleOf(inputs), inputScale, projection!, options)
      return {out: attendWith(inputs, features)}
    },
    rowWeights(inputs: AttendInputs<Options>, rows: RowChoice): tf.Tensor4D {
      const {inputScale, projection, options} = inputs
      const features = featuresFrom(sampleOf(inputs), inputScale, projection!, options)
      return rowsWith(inputs, features, rows)
    },
    decoder: (inputs: DecoderInputs<Options>): Decoder => decoderFrom(inputs, rule, featuresFrom),
    kernel: kernelFacts(rule),
    positiveHead: (head: PositiveHead, options: Options): PositiveHead =>
      positiveHead(head, momentsOfTokens(head, options.prefix), of => rule.parameters(of, options)),
  }
}

/** Of the tokens that set the features of a call without calibration. */
function momentsOfTokens({query, key, headDim, causal}: PositiveHead, prefix: number): HeadMoments {
  const tokens = (all: Float64Array) => {
    const length = all.length / headDim
    const count = causal && prefix > 0 ? Math.min(prefix, length) : length
    return Array.from({length: count}, (_, i) => all.subarray(i * headDim, (i + 1) * headDim))
  }
  return momentsOfPairs({query: tokens(query), key: tokens(key)})
}

/** Parameters of every head; those of a head with the moments of the one before are taken over. */
export function parametersOf(
  moments: readonly HeadMoments[],
  rule: (head: HeadMoments) => HeadParameters,
): HeadParameters[] {
  const found: HeadParameters[] = []
  moments.forEach((head, index) => {
    // eigenvectors are O(D^3) per head; without moments, for one, all heads have the same
    const before = moments[index - 1]
    found.push(before && sameMoments(before, head) ? found[index - 1]! : rule(head))
  })
  return found
}

function sameMoments(a: HeadMoments, b: HeadMoments): boolean {
  return (['mean', 'squares', 'outer'] as const).every(name =>
    (['query', 'key'] as const).every(side =>
      a[name][side].every((value, at) => value === b[name][side][at]),
    ),
  )
}

function attendWith(inputs: AttendInputs, features: ExponentialFeatures): tf.Tensor4D {
  if (inputs.causal) return causalExponentialAttention(inputs, features)
  const {bridges, logWeight} = bridged(features)
  return positiveAttention(mapped(inputs, features), bridges, logWeight)
}

/** Weights of single queries, in either form. */
function rowsWith(
  inputs: AttendInputs,
  features: ExponentialFeatures,
  rows: RowChoice,
): tf.Tensor4D {
  const tokens = mapped(inputs, features)
  return bridgeRows(tokens, {...bridged(features), keyBias: normBias(tokens)}, rows)
}

/** P x and P^-1 y, which have the product x.y. */
function mapped(inputs: AttendInputs, {maps}: ExponentialFeatures): AttendInputs {
  if (!maps) return inputs
  const {query, key} = inputs
  return {...inputs, query: applied(query, maps.query), key: applied(key, maps.key)}
}

/** phi(x) phi(y) has c_s = w.A w of both sides, and exp(2 c_s) is the weight of a bridge; D0 cancels. */
function bridged({bridges, logWeight}: ExponentialFeatures) {
  return {bridges, logWeight: tf.mul(logWeight, 2) as tf.Tensor3D}
}

type FeaturesFrom<Options> = (
  sample: Sample,
  scale: number,
  projection: Projection,
  options: Options,
) => ExponentialFeatures

function decoderFrom<Options>(
  inputs: DecoderInputs<Options>,
  rule: ExponentRule<Options>,
  featuresFrom: FeaturesFrom<Options>,
): Decoder {
  const {batch, heads, headDim, inputScale, projection, options, calibration} = inputs
  const free = rule.moments(options) === 'none'
  if (!calibration && !free) throw needsCalibration(rule.name)
  let made: Decoder | undefined
  tf.tidy(() => {
    // a rule that needs no moments looks at no token
    const nothing: tf.Tensor4D = tf.zeros([batch, heads, 1, headDim])
    const sample = calibration ?? {query: nothing, key: nothing}
    const features = featuresFrom(sample, inputScale, projection!, options)
    made = exponentialDecoder(inputs, features)
  })
  return made!
}

/** Why the length of a prefix has no part in kernel estimates. */
const PREFIX_IDLE = 'a pair by itself has no sequence to take a prefix from'

function kernelFacts<Options>(rule: ExponentRule<Options>) {
  const parametersFor = parametersOnce(rule)
  return {
    formula: () => 'exp(x.y)',
    moments(x, y, {numFeatures, options, calibration}) {
      return averaged(rowMoments(parametersFor(calibration, options), x, y), numFeatures)
    },
    features(x, projection, options, {side, calibration, headDim = x.shape[3]}) {
      const [batch, heads] = x.shape
      const parameters = new Array(batch * heads).fill(parametersFor(calibration, options))
      const features = exponentialFeatures(projection, parameters, {batch, heads, headDim})
      const numFeatures = projection.shape.at(-2)!
      return tf.mul(tf.exp(logExponential(x, side, features)), numFeatures ** -0.5)
    },
    tilt: (x, y, {options, calibration}) => rowTilt(parametersFor(calibration, options), x, y),
    idle: () => ({prefix: PREFIX_IDLE}) as Partial<Record<keyof Options & string, string>>,
  } satisfies KernelFacts<Options>
}

/** Parameters from calibration pairs, found once for both sides and all draws of a cell. */
function parametersOnce<Options>(rule: ExponentRule<Options>) {
  const known = new WeakMap<CalibrationPairs, {options: Options; parameters: HeadParameters}>()
  return (calibration: CalibrationPairs, options: Options): HeadParameters => {
    const before = known.get(calibration)
    if (before?.options === options) return before.parameters
    const parameters = rule.parameters(momentsOfPairs(calibration), options)
    known.set(calibration, {options, parameters})
    return parameters
  }
}

/** One row's product; its k-th moment is infinite where an exponent reaches 1/(4k). */
function rowMoments(parameters: HeadParameters, x: Float64Array, y: Float64Array): Moments {
  // ln of E[(phi(x) phi(y))^k] / exp(k x.y)
  const [log2, log3, log4] = [2, 3, 4].map(k => relativeLogMoment(k, parameters, x, y))
  const mean = softmaxKernel(x, y)
  return {
    mean,
    variance: mean ** 2 * Math.expm1(log2!),
    kurtosis: relativeKurtosis(log2!, log3!, log4!),
  }
}

/** Moments of calibration vectors in double precision, as of one head. */
export function momentsOfPairs({query, key}: CalibrationPairs): HeadMoments {
  const [queries, keys] = [momentsOfVectors(query), momentsOfVectors(key)]
  return {
    mean: {query: queries.mean, key: keys.mean},
    squares: {query: queries.squares, key: keys.squares},
    outer: {query: queries.outer, key: keys.outer},
  }
}

function momentsOfVectors(vectors: readonly Float64Array[]) {
  const n = vectors[0]!.length
  const mean = new Float64Array(n)
  const outer = new Float64Array(n * n)
  for (const vector of vectors) {
    for (let i = 0; i < n; i++) {
      mean[i]! += vector[i]! / vectors.length
      for (let j = 0; j < n; j++) outer[i * n + j]! += (vector[i]! * vector[j]!) / vectors.length
    }
  }
  return {mean, outer, squares: mean.map((_, d) => outer[d * n + d]!)}
}

function needsCalibration(method: string): RfaError {
  const got = 'none: its features are set by statistics before the first token'
  const remedy = 'give calibration: {query, key}, e.g. the tokens of a prompt'
  return expected('UNSUPPORTED', method, 'calibration for decoding', got, remedy)
}
