import {type ProjectionName, projectionNamed} from '../../attention/names.js'
import {expected, listedFor} from '../../errors.js'
import {type VariancePlan, variancePlan} from '../../experiments/variance/schema.js'
import {defaultHelp, type Grid, gridOf} from '../flags/defaults.js'
import {type FlagValues, inGroup, numberList, oneNumber, oneShare} from '../flags/kinds.js'
import {ANGLE, NON_NEGATIVE_NUMBER, POSITIVE_INTEGER} from '../flags/ranges.js'
import {methodFlags, runFlags} from '../flags/shared.js'
import {type EstimatorFacts, toMethodSpecs} from './method-specs.js'
import {checkedPlan, drawAxesOf, listOr, replicatesOf} from './values.js'
import {pairFlags, type SampledInput} from './variance-input.js'

/** A variance experiment needs no input: only pairs of vectors of these norms and angles. */
interface VarianceGrid extends Grid {
  headDims: readonly number[]
  /** Euclidean norms of both canonical vectors. */
  norms: readonly number[]
  anglesDeg: readonly number[]
  replicates: number
}

/** Norms on both sides of 1, from which on the tail of positive features makes their variance. */
export const VARIANCE: Record<'standard' | 'quick', VarianceGrid> = {
  standard: {
    methods: ['favor-pos', 'favor-hyp', 'favor-trig'],
    projections: ['iid', 'orth'],
    numFeatures: [64],
    headDims: [16, 64],
    norms: [0.5, 1, 1.5],
    anglesDeg: [0, 60, 120, 180],
    replicates: 2000,
  },
  quick: {
    methods: ['favor-pos', 'favor-trig'],
    projections: ['iid', 'orth'],
    numFeatures: [32],
    headDims: [16],
    norms: [0.5, 1],
    anglesDeg: [0, 90, 180],
    replicates: 800,
  },
}

/** Most draws of a cell, whatever its intervals. */
const MOST_DRAWS = 100_000

export const varianceFlags = {
  ...methodFlags(VARIANCE),
  ...inGroup('GRID', {
    'head-dim': numberList(POSITIVE_INTEGER)(
      `head dimensions D ${defaultHelp(VARIANCE, grid => grid.headDims)}`,
    ),
    norms: numberList(NON_NEGATIVE_NUMBER)(
      `norms of both vectors, canonical ${defaultHelp(VARIANCE, grid => grid.norms)}`,
    ),
    'key-norms': numberList(NON_NEGATIVE_NUMBER)(
      'norms of y, each with each of --norms, then those of x (default: that of x)',
    ),
    angles: numberList(ANGLE)(
      `angles between them in degrees ${defaultHelp(VARIANCE, grid => grid.anglesDeg)}`,
    ),
    'sum-norms': numberList(NON_NEGATIVE_NUMBER)(
      'norms |x+y| of pairs of equal norms, each with each of --difference-norms, in place of norms and angles',
    ),
    'difference-norms': numberList(NON_NEGATIVE_NUMBER)('norms |x-y| of such pairs'),
  }),
  ...pairFlags,
  ...inGroup('GRID', {
    replicates: oneNumber(POSITIVE_INTEGER)(
      `independent draws, at least 2 ${defaultHelp(VARIANCE, grid => grid.replicates)}`,
    ),
    'until-ci': oneShare(
      'double the replicates until every 95 % interval is within this share of the ratio to iid, or of the variance where there is no ratio, such as 0.05 or 5%; --replicates is then the minimum',
    ),
    'max-replicates': oneNumber(POSITIVE_INTEGER)(
      `with --until-ci: draws at which a cell ends all the same (default: ${MOST_DRAWS})`,
    ),
  }),
  ...runFlags,
}
/** What `rfa variance` was asked for; a missing value was not typed. */
export type VarianceFlags = FlagValues<typeof varianceFlags>

/**
 * The plan of a variance experiment: kernel estimates of pairs of vectors by norm and angle.
 *
 * @param estimators - the registry, for options, presets and kernel facts
 * @param sampled - pairs of an input. Default: those of norms and angles
 * @throws {USAGE} for a method that estimates no kernel, or for fewer than two replicates
 * @throws {BAD_RANGE | BAD_OPTION | UNKNOWN_NAME} when the flags make no plan
 */
export function toVariancePlan(
  flags: VarianceFlags,
  estimators: EstimatorFacts,
  sampled?: SampledInput,
): VariancePlan {
  const grid = gridOf(VARIANCE, flags)
  const methods = kernelMethods(flags.methods, estimators)
  if (flags.replicates === 1) throw expected('USAGE', '--replicates', 'at least 2', '1')
  const plan = checkedPlan(variancePlan, {
    experiment: 'variance',
    methods: toMethodSpecs({...flags, methods}, grid.methods, estimators),
    ...drawAxesOf(flags, grid),
    ...(sampled ? pairsOf(sampled) : pairAxes(flags, grid)),
    ...replicatesOf(flags, {replicates: grid.replicates, most: MOST_DRAWS}),
    seed: flags.seed ?? 0,
    backend: flags.backend ?? 'auto',
  })
  const every = flags.projections?.includes('all') ?? false
  return {...plan, projections: plan.projections.filter(name => exists(name, plan, every))}
}

/** Pairs of an input, and no others. */
function pairsOf({headDim, ...sampled}: SampledInput) {
  return {head_dims: [headDim], norms: [], angles_deg: [], sampled}
}

/**
 * Pairs by norms and angles, or by sums and differences; by both where both are typed.
 *
 * @throws {USAGE} for one of two that belong together
 */
function pairAxes(flags: VarianceFlags, grid: VarianceGrid) {
  const [sums, differences] = [flags['sum-norms'], flags['difference-norms']]
  if ((sums === undefined) !== (differences === undefined)) {
    const [given, missing] = sums ? ['sum', 'difference'] : ['difference', 'sum']
    throw expected('USAGE', `--${given}-norms`, `--${missing}-norms beside it`, 'none')
  }
  const keyNorms = flags['key-norms']
  const typed = [flags.norms, flags.angles, keyNorms].some(list => list !== undefined)
  const byNorm = sums === undefined || typed
  return {
    head_dims: listOr(flags['head-dim'], '--head-dim', grid.headDims),
    norms: byNorm ? listOr(flags.norms, '--norms', grid.norms) : [],
    ...(keyNorms && {key_norms: listOr(keyNorms, '--key-norms', [])}),
    angles_deg: byNorm ? listOr(flags.angles, '--angles', grid.anglesDeg) : [],
    ...(sums && {sum_norms: listOr(sums, '--sum-norms', [])}),
    ...(differences && {difference_norms: listOr(differences, '--difference-norms', [])}),
  }
}

/**
 * Every projection is compared in every cell, so each must exist at each size. `all` means all that do.
 *
 * @throws {BAD_OPTION} for one that was named
 */
function exists(
  name: ProjectionName,
  {num_features, head_dims}: VariancePlan,
  every: boolean,
): boolean {
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
    const what = `a method that estimates a kernel: ${listedFor(method, able)}`
    throw expected('USAGE', '--methods', what, method)
  })
}
