import {type OrthSign, type PresetName, projectionNamed} from '../../attention/names.js'
import {expected} from '../../errors.js'
import {type VariancePlan, variancePlan} from '../../experiments/variance/schema.js'
import type {OptionAssignment} from '../flags.js'
import {gridOf, VARIANCE} from './defaults.js'
import {type EstimatorFacts, toMethodSpecs} from './method-specs.js'
import {checkedPlan, listOr, projectionsOr} from './values.js'

/** What `rfa variance` was asked for; a missing value was not typed. */
export interface VarianceFlags {
  /** Take the grid of seconds where nothing was typed. */
  quick: boolean
  methods?: readonly string[] | undefined
  projections?: readonly string[] | undefined
  'orth-sign'?: OrthSign | undefined
  'num-features'?: readonly (readonly number[])[] | undefined
  preset?: readonly PresetName[] | undefined
  option?: readonly OptionAssignment[] | undefined
  'head-dim'?: readonly (readonly number[])[] | undefined
  /** Norms of both canonical vectors. */
  norms?: readonly (readonly number[])[] | undefined
  /** Angles between them, in degrees. */
  angles?: readonly (readonly number[])[] | undefined
  replicates?: number | undefined
  seed?: number | undefined
  backend?: string | undefined
}

/**
 * The plan of a variance experiment: kernel estimates of pairs of vectors by norm and angle.
 *
 * @param estimators - the registry, for options, presets and kernel facts
 * @throws {USAGE} for a method that estimates no kernel, or for fewer than two replicates
 * @throws {BAD_RANGE | BAD_OPTION | UNKNOWN_NAME} when the flags make no plan
 */
export function toVariancePlan(flags: VarianceFlags, estimators: EstimatorFacts): VariancePlan {
  const grid = gridOf(VARIANCE, flags)
  const methods = kernelMethods(flags.methods, estimators)
  if (flags.replicates === 1) throw expected('USAGE', '--replicates', 'at least 2', '1')
  const plan = checkedPlan(variancePlan, {
    experiment: 'variance',
    methods: toMethodSpecs({...flags, methods}, grid.methods, estimators),
    projections: projectionsOr(flags.projections, grid.projections),
    orth_sign: flags['orth-sign'] ?? 'haar',
    num_features: listOr(flags['num-features'], '--num-features', grid.numFeatures),
    head_dims: listOr(flags['head-dim'], '--head-dim', grid.headDims),
    norms: listOr(flags.norms, '--norms', grid.norms),
    angles_deg: listOr(flags.angles, '--angles', grid.anglesDeg),
    replicates: flags.replicates ?? grid.replicates,
    seed: flags.seed ?? 0,
    backend: flags.backend ?? 'auto',
  })
  const every = flags.projections?.includes('all') ?? false
  return {...plan, projections: plan.projections.filter(name => exists(name, plan, every))}
}

/**
 * Every projection is compared in every cell, so each must exist at each size. `all` means all that do.
 *
 * @throws {BAD_OPTION} for one that was named
 */
function exists(name: string, {num_features, head_dims}: VariancePlan, every: boolean): boolean {
  for (const numFeatures of num_features) {
    for (const headDim of head_dims) {
      const refused = projectionNamed(name).refuses?.({numFeatures, headDim})
      if (!refused) continue
      if (every) return false
      throw expected('BAD_OPTION', '--projections', refused.expected, refused.got)
    }
  }
  return true
}

/** `all` means all that estimate a kernel; naming another one is an error. */
function kernelMethods(
  methods: readonly string[] | undefined,
  estimators: EstimatorFacts,
): string[] | undefined {
  const able = Object.values(estimators)
    .filter(({kernel}) => kernel !== undefined)
    .map(({name}) => name)
  return methods?.flatMap(method => {
    if (method === 'all') return able
    if (able.includes(method)) return [method]
    throw expected(
      'USAGE',
      '--methods',
      `a method that estimates a kernel: ${able.join(', ')}`,
      method,
    )
  })
}
