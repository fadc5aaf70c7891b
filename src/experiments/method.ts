/** From a method of a plan to its estimator and options. */

import type {CallShape, Estimator, ExactTarget} from '../attention/index.js'
import {isCanonicalSoftmax, noiseSpecs} from '../attention/internal.js'
import {
  estimatorNamed,
  loadEstimators,
  projectionNamed,
  resolveOptions,
  supportsOf,
  usesProjection,
} from '../attention/names.js'
import type {TunedSpec} from '../tuned/index.js'
import type {DrawPoint, MethodSpec} from './axes.js'

/** An estimator with the options in force. */
export interface ResolvedMethod {
  estimator: Estimator
  options: Record<string, unknown>
  /** It takes a projection: the axis projection applies. */
  projected: boolean
  /** Whether numFeatures applies to such a call of it, and the axis num_features, too. */
  sized(call: {causal: boolean}): boolean
  /** It draws something: replicates differ. */
  random: boolean
  /** Learned parameters; absent: none. */
  tuned?: TunedSpec | undefined
}

/** Resolves one method of a plan. A preset that the method does not have means its exact form. */
export async function resolveMethod(spec: MethodSpec): Promise<ResolvedMethod> {
  await loadEstimators()
  const estimator = estimatorNamed(spec.method)
  const options = resolveOptions(estimator, spec.preset, spec.options)
  const projected = usesProjection(estimator, options)
  const noise = Object.keys(noiseSpecs(estimator, SMALLEST, options))
  return {
    estimator,
    options,
    projected,
    sized: call =>
      projected || (estimator.sizedBy !== undefined && (estimator.sized?.(call, options) ?? true)),
    random: projected || noise.length > 0,
    ...(spec.tuned && {tuned: spec.tuned}),
  }
}

/** How many draws a method makes: at most those that it has learned random vectors for. @param wanted - by its plan */
export function drawsOf({random, tuned}: ResolvedMethod, wanted: number): number {
  return random ? Math.min(wanted, tuned?.draws ?? wanted) : 1
}

/** Which arrays are random depends on the options, not on the shape. */
const SMALLEST = {
  batch: 1,
  heads: 1,
  queryLen: 1,
  keyLen: 1,
  headDim: 1,
  valueDim: 1,
  numFeatures: 1,
  causal: false,
}

/** Sizes of one forward. */
export type ForwardShape = Omit<CallShape, 'numFeatures' | 'causal'>

/** The call of attention that a cell makes. */
export function callShape(
  shape: ForwardShape,
  {num_features, causal}: {num_features: number | null; causal: boolean},
): CallShape {
  return {...shape, numFeatures: num_features ?? 0, causal}
}

/** F, the length of its feature vectors; 0: it has none. */
export function featureDimOf(
  {estimator, options}: Pick<ResolvedMethod, 'estimator' | 'options'>,
  {num_features}: {num_features: number | null},
  headDim: number,
): number {
  return estimator.featureDim(num_features ?? 0, headDim, options)
}

/** The stated reason why a method has no such form, if it has none. */
export function unsupportedReason(
  {estimator, options}: Pick<ResolvedMethod, 'estimator' | 'options'>,
  {causal, cross, masked = false, decode = false}: WantedForm,
): string | undefined {
  const supports = supportsOf(estimator, options)
  if (causal && !supports.causal) return 'bidirectional only'
  if (!causal && !supports.bidirectional) return 'causal only'
  if (cross && !supports.cross) return 'needs equal numbers of queries and keys'
  if (masked && !supports.keyMask) return 'takes no key mask'
  if (decode && !estimator.decoder) return 'has no recurrent form'
  if (decode && !supports.decode) return estimator.refuses?.(options).decode ?? 'does not decode'
  return undefined
}

interface WantedForm {
  causal: boolean
  cross: boolean
  masked?: boolean
  /** The recurrent form. */
  decode?: boolean
}

/** The stated reason why a projection has no such size, if it has none. */
export function whyNotDrawn(
  {projection, num_features}: Pick<DrawPoint, 'projection' | 'num_features'>,
  headDim: number,
): string | undefined {
  if (projection === null || num_features === null) return undefined
  const {refuses} = projectionNamed(projection)
  const refused = refuses?.({numFeatures: num_features, headDim})
  return refused && `needs ${refused.expected}, has ${refused.got}`
}

/** Softmax attention of the queries and keys as given: the target that every method is compared with. */
export const RAW_TARGET: ExactTarget = {
  kernel: 'softmax',
  inputs: 'canonical',
  inputScale: 1,
  label: 'softmax',
}

/** What a method converges to, if that is known and not {@link RAW_TARGET}. */
export function matchedTarget({
  estimator,
  options,
  tuned,
}: ResolvedMethod): ExactTarget | undefined {
  if (tuned) return undefined
  const target = estimator.target(options)
  return target && !isCanonicalSoftmax(target) ? target : undefined
}
