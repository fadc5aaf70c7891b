import {type ErrorSweepPlan, errorSweepPlan} from '../../experiments/error-sweep/schema.js'
import {
  type FlagValues,
  methodFlags,
  nameList,
  numberList,
  oneNumber,
  runFlags,
  scaleFlag,
  toggle,
} from '../flags.js'
import {POSITIVE_INTEGER, SCALE} from '../ranges.js'
import {defaultHelp, type Grid, gridOf} from './defaults.js'
import {GENERATOR_SHAPE, generatorFlags, inputFlags, toInputSpec, toLayers} from './input-spec.js'
import {type EstimatorFacts, toMethodSpecs} from './method-specs.js'
import {checkedPlan, drawAxesOf, listOr} from './values.js'

/** An error sweep also scales queries and keys, and repeats random draws. */
interface ErrorSweepGrid extends Grid {
  /** Factors on queries and keys. */
  scales: readonly number[]
  replicates: number
}

/** The quick sweep keeps one method of each kind, the yardstick, and the exact form as a check. */
export const ERROR_SWEEP: Record<'standard' | 'quick', ErrorSweepGrid> = {
  standard: {
    methods: ['favor-pos', 'favor-hyp', 'favor-trig', 'favor-relu', 'rfa', 'elu', 'mean-value'],
    projections: ['iid', 'orth'],
    numFeatures: [64, 256, 1024],
    scales: [1],
    replicates: 10,
  },
  quick: {
    methods: ['favor-pos', 'favor-trig', 'rfa', 'elu', 'mean-value', 'softmax'],
    projections: ['iid', 'orth'],
    numFeatures: [64, 256],
    scales: [1],
    replicates: 6, // the fewest that have an interval
  },
}

/** The flags of `rfa error-sweep`. */
export const errorSweepFlags = {
  ...inputFlags,
  ...generatorFlags,
  ...methodFlags(ERROR_SWEEP),
  'seq-len': numberList(POSITIVE_INTEGER)({
    helpGroup: 'GRID',
    description: `lengths L (default: that of the file; ${GENERATOR_SHAPE.seqLen} when generated)`,
  }),
  scales: numberList(SCALE)({
    helpGroup: 'GRID',
    description: `factors on queries and keys, an axis of the grid, e.g. 0.25..4x2 ${defaultHelp(ERROR_SWEEP, grid => grid.scales)}; --scale is the factor on q.k`,
  }),
  targets: nameList('targets', ['raw', 'matched'] as const)({
    helpGroup: 'GRID',
    description:
      'compare with softmax of the given q and k (raw), with what a method converges to (matched), or both (default)',
  }),
  replicates: oneNumber(POSITIVE_INTEGER)({
    helpGroup: 'GRID',
    description: `independent draws per cell ${defaultHelp(ERROR_SWEEP, grid => grid.replicates)}`,
  }),
  scale: scaleFlag('GRID', '; --scales multiplies q and k before that'),
  causal: toggle('query i sees keys 0..i only', 'GRID'),
  'row-metrics': toggle(
    'KL divergence and total variation of attention rows; needs L x S memory',
    'GRID',
  ),
  ...runFlags,
}
/** What `rfa error-sweep` was asked for; a missing value was not typed. */
export type ErrorSweepFlags = FlagValues<typeof errorSweepFlags>

/**
 * The plan of an error sweep: flags first, then the quick or the standard grid.
 *
 * @param estimators - the registry, for options and presets
 * @throws {USAGE | BAD_RANGE | BAD_OPTION | UNKNOWN_NAME} when the flags make no plan
 */
export function toErrorSweepPlan(
  flags: ErrorSweepFlags,
  estimators: EstimatorFacts,
): ErrorSweepPlan {
  const grid = gridOf(ERROR_SWEEP, flags)
  const input = toInputSpec(flags)
  const layers = toLayers(flags)
  return checkedPlan(errorSweepPlan, {
    experiment: 'error-sweep',
    input,
    ...(layers && {layers}),
    methods: toMethodSpecs(flags, grid.methods, estimators),
    ...drawAxesOf(flags, grid),
    seq_lens: seqLens(flags, input.kind),
    scales: listOr(flags.scales, '--scales', grid.scales),
    ...(flags.scale !== undefined && {logit_scale: flags.scale}),
    targets: [...new Set(flags.targets ?? (['raw', 'matched'] as const))],
    replicates: flags.replicates ?? grid.replicates,
    causal: flags.causal,
    row_metrics: flags['row-metrics'],
    seed: flags.seed ?? 0,
    backend: flags.backend ?? 'auto',
  })
}

/** A file has a length of its own; a generator needs one. */
function seqLens(flags: ErrorSweepFlags, kind: 'file' | 'generator'): number[] | null {
  const lengths = flags['seq-len']
  if (lengths === undefined && kind === 'file') return null
  return listOr(lengths, '--seq-len', [GENERATOR_SHAPE.seqLen])
}
