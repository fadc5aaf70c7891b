/** From a method of a plan to its estimator and options. */
import type {Estimator, ExactTarget} from '../attention/index.js'
import {noiseSpecs} from '../attention/internal.js'
import {
  estimatorNamed,
  loadEstimators,
  type OrthSign,
  projectionNamed,
  resolveOptions,
  supportsOf,
  usesProjection,
} from '../attention/names.js'
import type {MethodSpec} from '../results/schemas/index.js'

/** An estimator with the options in force. */
export interface ResolvedMethod {
  estimator: Estimator
  options: Record<string, unknown>
  /** It takes a projection: the axis projection applies. */
  projected: boolean
  /** Whether numFeatures means something to such a call of it: the axis num_features applies. */
  sized(call: {causal: boolean}): boolean
  /** It draws something: replicates differ. */
  random: boolean
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
  }
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

/** A point on the axes of a plan that concern the draw. */
export interface DrawAxes {
  projection: string | null
  /** `haar` where signs mean nothing. */
  orth_sign: OrthSign
  num_features: number | null
  replicates: number
}

/** Projections x numbers of features, without the axes that mean nothing to the method. */
export function drawAxes(
  {projected, sized, random}: ResolvedMethod,
  plan: {
    projections: readonly string[]
    orth_sign: OrthSign
    num_features: readonly number[]
    replicates: number
    causal: boolean
  },
): DrawAxes[] {
  const projections = projected ? plan.projections : [null]
  const counts = sized(plan) ? plan.num_features : [null]
  const replicates = random ? plan.replicates : 1
  return projections.flatMap(projection =>
    counts.map(num_features => ({
      projection,
      orth_sign: signOf(projection, plan.orth_sign),
      num_features,
      replicates,
    })),
  )
}

/** The sign that a projection is drawn with: what was asked for, where it has signs. */
function signOf(projection: string | null, wanted: OrthSign): OrthSign {
  return projection !== null && projectionNamed(projection).takesOrthSign ? wanted : 'haar'
}

/** The stated reason why a method has no such form, if it has none. */
export function whyNot(
  {estimator, options}: Pick<ResolvedMethod, 'estimator' | 'options'>,
  {causal, cross}: {causal: boolean; cross: boolean},
): string | undefined {
  const supports = supportsOf(estimator, options)
  if (causal && !supports.causal) return 'bidirectional only'
  if (!causal && !supports.bidirectional) return 'causal only'
  if (cross && !supports.cross) return 'needs as many queries as keys'
  return undefined
}

/** The stated reason why a projection has no such size, if it has none. */
export function whyNotDrawn(
  {projection, num_features}: {projection: string | null; num_features: number | null},
  headDim: number,
): string | undefined {
  if (projection === null || num_features === null) return undefined
  const {refuses} = projectionNamed(projection)
  const refused = refuses?.({numFeatures: num_features, headDim})
  return refused && `needs ${refused.expected}, has ${refused.got}`
}

/** Softmax attention of the queries and keys as given: the target that every method is held against. */
export const RAW_TARGET: ExactTarget = {
  kernel: 'softmax',
  inputs: 'canonical',
  inputScale: 1,
  label: 'softmax',
}

/** What a method converges to, where that is something else than {@link RAW_TARGET}. */
export function matchedTarget({estimator, options}: ResolvedMethod): ExactTarget | undefined {
  const target = estimator.target(options)
  if (!target) return undefined
  const same =
    target.kernel === 'softmax' &&
    target.inputs === 'canonical' &&
    target.inputScale === 1 &&
    !target.constant
  return same ? undefined : target
}

/** Name of a method in labels: the preset is named when it is not the exact form. */
export function methodLabel({method, preset, options}: MethodSpec): string {
  const changed = Object.entries(options).map(([name, value]) => `${name}=${value}`)
  const marks = [...(preset === 'exact' ? [] : [preset]), ...changed]
  return marks.length > 0 ? `${method} (${marks.join(', ')})` : method
}
