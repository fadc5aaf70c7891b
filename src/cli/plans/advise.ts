import * as Flags from '@oclif/core/flags'
import {ADVICE_METRICS, type AdviceMetric} from '../../advice/candidates.js'
import {ADVICE, type AdviceRequest} from '../../advice/plans.js'
import {METHOD_NAMES} from '../../attention/names.js'
import {expected, unknownName} from '../../errors.js'
import {BASELINES} from '../../experiments/bench/baselines.js'
import {
  completedWith,
  type FlagValues,
  nameList,
  numberList,
  oneNumber,
  oneText,
  toggle,
} from '../flag-kinds.js'
import {computeFlags, scaleFlag} from '../flags.js'
import {POSITIVE_INTEGER, POSITIVE_NUMBER, THREADS} from '../ranges.js'
import {defaultHelp, gridOf} from './defaults.js'
import {inputFlags, toInputSpec, toLayers} from './input-spec.js'
import {listOr} from './values.js'

/** Tolerance of rel_l2 where none is typed. */
const TOLERANCE = 0.05

/** What could be taken in place of exact attention. */
const CANDIDATES = METHOD_NAMES.filter(name => !BASELINES.includes(name))

/** Metrics are called as in records; flags are written with dashes, and these may be, too. */
function metricNamed(text: string): AdviceMetric {
  const found = ADVICE_METRICS.find(name => name === text.replaceAll('-', '_'))
  if (found === undefined) throw unknownName('--metric', 'metrics', text, ADVICE_METRICS)
  return found
}

/** The flags of `rfa advise`. */
export const adviseFlags = {
  ...inputFlags,
  scale: scaleFlag('INPUT'),
  causal: toggle('query i sees keys 0..i only', 'INPUT'),
  'seq-len': oneNumber(POSITIVE_INTEGER)({
    helpGroup: 'ADVICE',
    description: 'length L to advise for (default: that of the file, where errors are measured)',
  }),
  tolerance: oneNumber(POSITIVE_NUMBER)({
    helpGroup: 'ADVICE',
    helpValue: 'ERROR',
    description: `largest error that is accepted (default: ${TOLERANCE} for rel_l2)`,
  }),
  metric: Flags.custom<AdviceMetric>({
    helpValue: 'NAME',
    ...completedWith(ADVICE_METRICS),
    parse: async text => metricNamed(text),
  })({
    helpGroup: 'ADVICE',
    description: `metric of errors and tolerance: ${ADVICE_METRICS.join(', ')} (default: rel_l2)`,
  }),
  'budget-ms': oneNumber(POSITIVE_NUMBER)({
    helpGroup: 'ADVICE',
    description: 'longest time of a call over all heads in milliseconds (default: any)',
  }),
  methods: nameList(
    'methods',
    CANDIDATES,
  )({
    char: 'm',
    helpGroup: 'ADVICE',
    description: `candidates: ${CANDIDATES.join(', ')} ${defaultHelp(ADVICE, grid => grid.methods)}`,
  }),
  'num-features': numberList(POSITIVE_INTEGER)({
    helpGroup: 'ADVICE',
    description: `numbers of random vectors M to try: lists a,b and ranges 64..4kx4, with k = 1024 ${defaultHelp(ADVICE, grid => grid.numFeatures)}`,
  }),
  quick: toggle('fewer candidates, draws and runs: some fifteen seconds', 'RUN'),
  output: oneText({
    char: 'o',
    helpGroup: 'RUN',
    helpValue: 'DIR',
    description: 'folder of the runs and of advise.json (default: results/advise-<date>-<time>)',
  }),
  resume: toggle(
    'go on with the runs in --output: finished cells are kept, so that another tolerance, metric or budget costs nothing',
    'RUN',
  ),
  seed: computeFlags.seed,
  threads: oneNumber(THREADS)({
    helpGroup: 'RUN',
    description: 'threads in all (default: one per processor); times are those of as many',
  }),
}
/** What `rfa advise` was asked for; a missing value was not typed. */
export type AdviseFlags = FlagValues<typeof adviseFlags>

/**
 * What to measure and to advise on.
 *
 * @throws {USAGE} when the flags contradict each other
 */
export function toAdviceRequest(flags: AdviseFlags): AdviceRequest {
  const grid = gridOf(ADVICE, flags)
  const {metric = 'rel_l2', tolerance} = flags
  if (metric !== 'rel_l2' && tolerance === undefined) {
    throw expected('USAGE', '--metric', `--tolerance beside ${metric}`, 'none', 'add --tolerance')
  }
  return {
    input: toInputSpec(flags),
    layers: toLayers(flags),
    logitScale: flags.scale,
    causal: flags.causal,
    metric,
    tolerance: tolerance ?? TOLERANCE,
    budgetMs: flags['budget-ms'] ?? null,
    seqLen: flags['seq-len'] ?? null,
    methods: [...new Set(flags.methods ?? grid.methods)],
    numFeatures: listOr(flags['num-features'], '--num-features', grid.numFeatures),
    effort: flags.quick ? 'quick' : 'full',
    seed: flags.seed ?? 0,
    threads: flags.threads ?? null,
  }
}
