/** Generalised attention: features f(W x) or f(x) for any f, with the options that public code has. */
import * as tf from '@tensorflow/tfjs-core'
import {z} from 'zod'
import {type Features, project} from '../kernels/index.js'
import type {AttendResult, CallShape, Cost, Decoder, Projection} from '../types.js'
import {featureCost, featureStateBytes} from './costs.js'
import {featureDecoder} from './decoders/features.js'
import type {TokenMap} from './decoders/tokens.js'
import type {AttendInputs, DecoderInputs} from './estimator.js'
import {featureAttention} from './feature-attention.js'
import {
  featureEpsilon,
  GUARDS_IDLE,
  guardOf,
  guardOptions,
  NORMALIZER_IDLE,
  normalizerEpsilon,
} from './options.js'

/** Options of every f. */
export const generalizedOptions = z.object({
  features: z
    .enum(['random', 'deterministic'])
    .default('random')
    .describe('random: f(W x); deterministic: f(x), no projection'),
  inputScaling: z
    .enum(['canonical', 'raw'])
    .default('canonical')
    .describe('canonical: inputs times sqrt(logit scale); raw: as they are'),
  featureEpsilon,
  normalizerEpsilon,
  ...guardOptions,
})
export type GeneralizedOptions = z.output<typeof generalizedOptions>

/** Facts that do not depend on f, as long as it is nowhere negative. */
export const generalizedFacts = {
  nonNegative: true,
  rowsSumToOne: true,
  supports: {bidirectional: true, causal: true, cross: true, decode: true, keyMask: true},
  keyOrderMatters: false,
  projection: {
    default: 'orth',
    used: ({features}: Pick<GeneralizedOptions, 'features'>) => features === 'random',
  },
  featureDim,
  inputs: ({inputScaling}: Pick<GeneralizedOptions, 'inputScaling'>) => inputScaling,
  cost: (shape: CallShape, options: GeneralizedOptions): Cost =>
    featureCost(
      shape,
      featureDim(shape.numFeatures, shape.headDim, options),
      options.features === 'random' ? shape.numFeatures : 0,
    ),
  stateBytes: (
    {numFeatures, headDim, valueDim}: {numFeatures: number; headDim: number; valueDim: number},
    options: GeneralizedOptions,
  ) => featureStateBytes(featureDim(numFeatures, headDim, options), valueDim),
} as const

function featureDim(
  numFeatures: number,
  headDim: number,
  {features}: Pick<GeneralizedOptions, 'features'>,
): number {
  return features === 'random' ? numFeatures : headDim
}

/** What f is applied to: W x for random features, else x; `[B, H, n, F]`. */
export function generalizedArgument(
  x: tf.Tensor4D,
  inputScale: number,
  projection: Projection | undefined,
  {features}: Pick<GeneralizedOptions, 'features'>,
): tf.Tensor4D {
  const scaled: tf.Tensor4D = inputScale === 1 ? x : tf.mul(x, inputScale)
  return features === 'random' ? project(scaled, projection!) : scaled
}

/** How one side becomes features: of whole sequences and, with the same meaning, of single tokens. */
export type FeatureForm<Options> = (
  inputScale: number,
  projection: Projection | undefined,
  options: Options,
) => TokenMap

/** Options that no kernel estimate knows; `deterministic` features have none. */
export const GENERALIZED_IDLE = {...GUARDS_IDLE, ...NORMALIZER_IDLE}

/** The end of a kernel's formula: what epsilon is, and what x is where it is not canonical. */
export function generalizedSuffix(
  {inputScaling}: Pick<GeneralizedOptions, 'inputScaling'>,
  epsilon: string | number,
): string {
  const parts = [
    ...(epsilon === 0 ? [] : [`e = ${epsilon}`]),
    ...(inputScaling === 'raw' ? ['x = q'] : []),
  ]
  return parts.map(part => `, ${part}`).join('')
}

/** `f(argument) + epsilon`. */
export function generalizedForm<Options extends GeneralizedOptions>(
  f: (argument: tf.Tensor4D) => tf.Tensor4D,
): FeatureForm<Options> {
  return (inputScale, projection, options) => token =>
    tf.add(f(generalizedArgument(token, inputScale, projection, options)), options.featureEpsilon)
}

/** Sums of explicit features, guard applied. */
export function generalizedAttend<Options extends GeneralizedOptions>(
  {query, key, value, inputScale, causal, keyMask, projection, options}: AttendInputs<Options>,
  form: FeatureForm<Options>,
): AttendResult {
  const map = form(inputScale, projection, options)
  const featuresOf = (x: tf.Tensor4D): Features =>
    typeof map === 'function' ? map(x) : {...map, x}
  return featureAttention({
    queryFeatures: featuresOf(query),
    keyFeatures: featuresOf(key),
    value,
    causal,
    keyMask,
    guard: guardOf(options, causal),
    normalizerEpsilon: options.normalizerEpsilon,
  })
}

/** The recurrent form. */
export function generalizedDecoder<Options extends GeneralizedOptions>(
  inputs: DecoderInputs<Options>,
  form: FeatureForm<Options>,
): Decoder {
  const {projection, options, headDim, numFeatures} = inputs
  const map = form(decoderScale(inputs), projection, options)
  return featureDecoder(
    inputs,
    featureDim(projection?.shape.at(-2) ?? numFeatures, headDim, options),
    {query: map, key: map},
    {guard: guardOf(options, true), normalizerEpsilon: options.normalizerEpsilon},
  )
}

/** The factor from raw tokens to x. */
export function decoderScale({
  logitScale,
  options,
}: Pick<DecoderInputs<GeneralizedOptions>, 'logitScale' | 'options'>): number {
  return options.inputScaling === 'canonical' ? Math.sqrt(logitScale) : 1
}
