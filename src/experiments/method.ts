/** From a method of a plan to its estimator and options. */
import {loadEstimators} from '../attention/estimators/index.js'
import {estimatorNamed, resolveOptions, usesProjection} from '../attention/resolve.js'
import type {Estimator, ExactTarget, PresetName} from '../attention/types.js'
import type {MethodSpec} from '../results/schemas/index.js'

/** An estimator with the options in force. */
export interface ResolvedMethod {
  estimator: Estimator
  options: Record<string, unknown>
  /** It draws a projection: the axes projection, num_features and replicates apply. */
  random: boolean
}

/** Resolves one method of a plan. A preset that the method does not have means its exact form. */
export async function resolveMethod(spec: MethodSpec): Promise<ResolvedMethod> {
  await loadEstimators()
  const estimator = estimatorNamed(spec.method)
  const options = resolveOptions(estimator, spec.preset, spec.options)
  return {estimator, options, random: usesProjection(estimator, options)}
}

/** The preset to use for a method when one preset is asked for all methods. */
export function presetFor(estimator: Pick<Estimator, 'presets'>, preset: PresetName): PresetName {
  return preset in estimator.presets ? preset : 'exact'
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
    target.kernel === 'softmax' && target.inputs === 'canonical' && target.inputScale === 1
  return same ? undefined : target
}

/** Name of a method in labels: the preset is named when it is not the exact form. */
export function methodLabel({method, preset, options}: MethodSpec): string {
  const changed = Object.entries(options).map(([name, value]) => `${name}=${value}`)
  const marks = [...(preset === 'exact' ? [] : [preset]), ...changed]
  return marks.length > 0 ? `${method} (${marks.join(', ')})` : method
}
