/** The forms that every estimator with generalised exponential features has in common. */
import * as tf from '@tensorflow/tfjs-core'
import {z} from 'zod'
import {RfaError} from '../../errors.js'
import {softmaxKernel} from '../../theory/kernels.js'
import {featureCost, featureStateBytes} from '../costs.js'
import {positiveAttention} from '../estimators/positive-attention.js'
import {softmaxTarget} from '../estimators/targets.js'
import type {
  AttendInputs,
  AttendResult,
  CallShape,
  Cost,
  Decoder,
  DecoderInputs,
  InputSpace,
  KernelFacts,
  Projection,
} from '../types.js'
import {
  applied,
  causalExponentialAttention,
  type ExponentialFeatures,
  exponentialDecoder,
  exponentialFeatures,
  logExponential,
} from './features.js'
import {type HeadMoments, type MomentKind, momentsOf, type Sample, sampleOf} from './moments.js'
import {type HeadParameters, relativeLogSecondMoment} from './parameters.js'

/** Tokens that a causal call calibrates on by default. */
const PREFIX = 64

/** Options of every estimator with generalised exponential features. */
export const exponentialOptions = {
  prefix: z
    .number()
    .int()
    .nonnegative()
    .default(PREFIX)
    .describe(
      'causal only: statistics come from the first so many queries and keys where no calibration is given; 0: from all, which sees the future',
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

/** Facts that hold for all of them. */
export const exponentialFacts = {
  unbiasedFor: 'softmax-kernel',
  nonNegative: true,
  rowsSumToOne: true,
  supports: {bidirectional: true, causal: true, cross: true, decode: true, keyMask: true},
  keyOrderMatters: false,
  projection: {default: 'orth'},
  calibrates: true,
  featureDim: (numFeatures: number) => numFeatures,
  inputs: (): InputSpace => 'canonical',
  target: softmaxTarget,
  stateBytes: ({numFeatures, valueDim}: {numFeatures: number; valueDim: number}) =>
    featureStateBytes(numFeatures, valueDim),
  presets: {},
} as const

/** Positive features and the passes over tokens that statistics and maps take. @param passes - in multiply-adds per token and dimension */
export function exponentialCost(shape: CallShape, passes: number): Cost {
  const {batch, heads, queryLen, keyLen, headDim, numFeatures} = shape
  const {flops, liveBytes} = featureCost(shape, numFeatures, numFeatures)
  const tokens = batch * heads * (queryLen + keyLen) * headDim
  const bridges = batch * heads * numFeatures * (headDim + 1)
  return {flops: flops + 2 * passes * tokens, liveBytes: liveBytes + 4 * (tokens + bridges)}
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
    decoder: (inputs: DecoderInputs<Options>): Decoder => decoderFrom(inputs, rule, featuresFrom),
    kernel: kernelFacts(rule, featuresFrom),
  }
}

/** Parameters of every head; those of a head with the moments of the one before are taken over. */
export function parametersOf(
  moments: readonly HeadMoments[],
  rule: (head: HeadMoments) => HeadParameters,
): HeadParameters[] {
  const found: HeadParameters[] = []
  moments.forEach((head, index) => {
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
  const {bridges, logWeight, maps} = features
  const tokens = maps && {
    query: applied(inputs.query, maps.query),
    key: applied(inputs.key, maps.key),
  }
  return positiveAttention({...inputs, ...tokens}, bridges, tf.mul(logWeight, 2))
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
  const {batch, heads, headDim, logitScale, projection, options, calibration} = inputs
  const free = rule.moments(options) === 'none'
  if (!calibration && !free) throw needsCalibration(rule.name)
  let made: Decoder | undefined
  tf.tidy(() => {
    const nothing: tf.Tensor4D = tf.zeros([batch, heads, 1, headDim])
    const sample = calibration ?? {query: nothing, key: nothing}
    const features = featuresFrom(sample, Math.sqrt(logitScale), projection!, options)
    made = exponentialDecoder(inputs, features)
  })
  return made!
}

function kernelFacts<Options>(
  rule: ExponentRule<Options>,
  featuresFrom: FeaturesFrom<Options>,
): KernelFacts<Options> {
  return {
    formula: 'exp(x.y)',
    expectation: softmaxKernel,
    variance(x, y, numFeatures, options) {
      const parameters = rule.parameters(pairMoments(x, y), options)
      const relative = Math.expm1(relativeLogSecondMoment(parameters, x, y))
      return (softmaxKernel(x, y) ** 2 * relative) / numFeatures
    },
    features(x, projection, options, {side, calibration}) {
      const features = featuresFrom(calibration, 1, projection, options)
      const numFeatures = projection.shape.at(-2)!
      return tf.mul(tf.exp(logExponential(x, side, features)), numFeatures ** -0.5)
    },
  }
}

/** The moments of a single pair. */
export function pairMoments(x: Float64Array, y: Float64Array): HeadMoments {
  const square = (v: Float64Array) => v.map(value => value ** 2)
  const outer = (v: Float64Array) =>
    Float64Array.from({length: v.length ** 2}, (_, at) => {
      return v[Math.floor(at / v.length)]! * v[at % v.length]!
    })
  return {
    mean: {query: x, key: y},
    squares: {query: square(x), key: square(y)},
    outer: {query: outer(x), key: outer(y)},
  }
}

function needsCalibration(method: string): RfaError {
  return new RfaError(
    'UNSUPPORTED',
    `${method}: expected calibration for decoding, got none: its features are set by statistics before the first token`,
    {suggestions: ['give calibration: {query, key}, e.g. the tokens of a prompt']},
  )
}
