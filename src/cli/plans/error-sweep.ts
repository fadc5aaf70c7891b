import {expected} from '../../errors.js'
import {
  type ErrorSweepPlan,
  errorSweepPlan,
  PRECISION_METRICS,
} from '../../experiments/error-sweep/schema.js'
import type {Plan} from '../../results/record.js'
import type {TunedFile} from '../../tuned/index.js'
import {defaultHelp, type Grid, gridOf} from '../flags/defaults.js'
import {
  eitherWay,
  type FlagValues,
  inGroup,
  nameList,
  numberList,
  oneNumber,
  oneOption,
  oneShare,
  toggle,
} from '../flags/kinds.js'
import {COUNT, POSITIVE_INTEGER, SCALE} from '../flags/ranges.js'
import {causalFlags, methodFlags, parametersFlag, runFlags, scaleFlag} from '../flags/shared.js'
import {
  GENERATOR_SHAPE,
  generatorFlags,
  inputFlags,
  toHeadDims,
  toInputSpec,
  toLayers,
  type WithCausal,
} from './input-spec.js'
import {type EstimatorFacts, toMethodSpecs} from './method-specs.js'
import {withTuned, withTunedDraws} from './tuned.js'
import {checkedPlan, drawAxesOf, listOr, onlyWithUntilCi, replicatesOf} from './values.js'

/** An error sweep also scales queries and keys, and repeats random draws. */
interface ErrorSweepGrid extends Grid {
  /** Factors on queries and keys, where these are not the user's. */
  scales: readonly number[]
  replicates: number
}

/**
 * The quick sweep keeps one method of each kind, the yardstick, and the exact form as a check. Sine and cosine features of the given
 * q and k are in neither: on arrays of trained models their denominators change sign, and an error of 400 times the output hides all
 * others in a figure. It shows the packaged layer with a sixteenth of its logits, too, where random features work.
 */
export const ERROR_SWEEP: Record<'standard' | 'quick', ErrorSweepGrid> = {
  standard: {
    methods: ['favor-pos', 'favor-hyp', 'oprf', 'favor-relu', 'rfa', 'elu', 'mean-value'],
    projections: ['iid', 'orth'],
    numFeatures: [64, 256, 1024],
    scales: [1],
    replicates: 10,
  },
  quick: {
    methods: ['favor-pos', 'rfa', 'elu', 'mean-value', 'softmax'],
    projections: ['orth'],
    numFeatures: [64, 256],
    scales: [1, 0.25],
    replicates: 9, // six have an interval, nine tell differences of a few per cent
  },
}

/** Queries with rows that `--details` compares: errors of total variation and agreement by sampling are then some 0.02. */
const ROW_QUERIES = 64

const MAX_REPLICATES = 400

export const errorSweepFlags = {
  ...inputFlags,
  ...generatorFlags,
  ...methodFlags(ERROR_SWEEP),
  ...inGroup('GRID', {
    parameters: parametersFlag(
      'its method is measured with and without them, with its projection and M',
    ),
    'seq-len': numberList(POSITIVE_INTEGER)(
      `lengths L (default: that of the file; ${GENERATOR_SHAPE.seqLen} when generated)`,
    ),
    scales: numberList(SCALE)(
      `factors on queries and keys, an axis of the grid, e.g. 0.25..4x2 ${defaultHelp(ERROR_SWEEP, grid => grid.scales)}, with --input 1; --scale is the factor on q.k`,
    ),
    targets: nameList({targets: ['raw', 'matched'] as const})(
      'compare with softmax of the given q and k (raw), with what a method converges to (matched), or both (default)',
    ),
    replicates: oneNumber(POSITIVE_INTEGER)(
      `independent draws per cell ${defaultHelp(ERROR_SWEEP, grid => grid.replicates)}`,
    ),
    'until-ci': oneShare(
      'add replicates until the 95 % interval of the median error is within this fraction of it, such as 0.05 or 5%; --replicates is then the minimum',
    ),
    'ci-metric': oneOption(PRECISION_METRICS)(
      'with --until-ci: metric of that interval (default: rel_l2)',
    ),
    'max-replicates': oneNumber(POSITIVE_INTEGER)(
      `with --until-ci: the most replicates of a cell (default: ${MAX_REPLICATES})`,
    ),
    scale: scaleFlag('; --scales multiplies q and k before that'),
    ...causalFlags,
    'row-queries': oneNumber(COUNT)(
      `queries with rows of weights that are compared by KL divergence, total variation and their largest weights, drawn by the seed, the same number of each head; 0: none (default: ${ROW_QUERIES} with --details, else 0)`,
    ),
    'row-metrics': toggle('the same of the rows of all queries; takes time like L x S'),
    predictions: eitherWay(
      'predict errors, and the M that an error of 5 % takes; takes as long as the rest (default: with --details)',
    ),
  }),
  ...runFlags,
}
/** What `rfa error-sweep` was asked for; a missing value was not typed. */
export type ErrorSweepFlags = WithCausal<FlagValues<typeof errorSweepFlags>>

/**
 * The plan of an error sweep: flags first, then the quick or the standard grid.
 *
 * @param estimators - the registry, for options and presets
 * @param tuned - learned parameters. Default: none
 * @throws {USAGE | BAD_RANGE | BAD_OPTION | UNKNOWN_NAME} when the flags make no plan
 */
export function toErrorSweepPlan(
  flags: ErrorSweepFlags,
  estimators: EstimatorFacts,
  tuned?: TunedFile,
): ErrorSweepPlan {
  const grid = withTunedDraws(gridOf(ERROR_SWEEP, flags), tuned)
  const input = toInputSpec(flags)
  const layers = toLayers(flags)
  const headDims = toHeadDims(flags)
  return checkedPlan(errorSweepPlan, {
    experiment: 'error-sweep',
    input,
    ...(layers && {layers}),
    ...(headDims && {head_dims: headDims}),
    methods: withTuned(toMethodSpecs(flags, grid.methods, estimators), tuned),
    ...drawAxesOf(flags, grid),
    seq_lens: seqLens(flags, input.kind),
    scales: listOr(flags.scales, '--scales', flags.input ? [1] : grid.scales),
    ...(flags.scale !== undefined && {logit_scale: flags.scale}),
    targets: [...new Set(flags.targets ?? (['raw', 'matched'] as const))],
    ...countsOf(flags, grid),
    causal: flags.causal,
    ...(flags['causal-align'] && {causal_align: flags['causal-align']}),
    ...rowsOf(flags),
    ...((flags.predictions ?? flags.details) && {predictions: true}),
    seed: flags.seed ?? 0,
    backend: flags.backend ?? 'auto',
  })
}

/**
 * What only details show, as the run that is gone on with has it: `--details` prints what there is of it.
 *
 * @param plan - of that run. Default: none is gone on with
 */
export function withSaved<Flags extends ExtraFlags>(flags: Flags, plan: Plan | undefined) {
  if (!plan) return flags
  const predictions = flags.predictions ?? 'predictions' in plan
  if (flags['row-metrics']) return {...flags, predictions}
  return {...flags, predictions, 'row-queries': flags['row-queries'] ?? savedQueries(plan)}
}

function savedQueries(plan: Plan): number {
  return 'row_queries' in plan && typeof plan.row_queries === 'number' ? plan.row_queries : 0
}

/** Flags that ask for what only details show. */
type ExtraFlags = Pick<ErrorSweepFlags, 'predictions' | 'row-metrics' | 'row-queries'>

/** Which rows of weights are compared. @throws {USAGE} where both all and a number are asked for */
function rowsOf(flags: ErrorSweepFlags): Pick<ErrorSweepPlan, 'row_metrics' | 'row_queries'> {
  const {'row-metrics': row_metrics, 'row-queries': typed, details} = flags
  if (row_metrics && typed !== undefined) {
    const wanted = 'left out with --row-metrics, which takes all queries'
    throw expected('USAGE', '--row-queries', wanted, String(typed), 'leave one of them out')
  }
  const queries = typed ?? (details ? ROW_QUERIES : 0)
  return {row_metrics, ...(!row_metrics && queries > 0 && {row_queries: queries})}
}

/** Replicates, and which metric decides how many. @throws {USAGE} for a metric without --until-ci */
function countsOf(
  flags: ErrorSweepFlags,
  {replicates}: ErrorSweepGrid,
): Pick<ErrorSweepPlan, 'replicates' | 'until_ci'> {
  const metric = flags['ci-metric']
  if (metric && flags['until-ci'] === undefined) throw onlyWithUntilCi('--ci-metric')
  const {until_ci, ...counts} = replicatesOf(flags, {replicates, most: MAX_REPLICATES})
  return {...counts, ...(until_ci && {until_ci: {metric: metric ?? 'rel_l2', ...until_ci}})}
}

/** A file has a length; a generator needs one. */
function seqLens(flags: ErrorSweepFlags, kind: 'file' | 'generator'): number[] | null {
  const lengths = flags['seq-len']
  if (lengths === undefined && kind === 'file') return null
  return listOr(lengths, '--seq-len', [GENERATOR_SHAPE.seqLen])
}
