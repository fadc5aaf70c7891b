import * as Flags from '@oclif/core/flags'
import {ADVICE_METRICS, type AdviceMetric} from '../../advice/candidates.js'
import {BUDGETS, MODEL_ADVICE, type ModelAdviceRequest} from '../../advice/model/plans.js'
import {CANDIDATES} from '../../advice/not-tried.js'
import {ADVICE, type AdviceRequest} from '../../advice/plans.js'
import {expected, RfaError, unknownName} from '../../errors.js'
import {mostTokens} from '../../experiments/bench/fields/model.js'
import {methodLabel} from '../../experiments/labels.js'
import type {ModelFacts} from '../../model/index.js'
import {assertTunedFits, type TunedFile, tunedSpecOf} from '../../tuned/index.js'
import {defaultHelp, gridOf} from '../flags/defaults.js'
import {
  completedWith,
  type FlagValues,
  inGroup,
  nameList,
  numberList,
  oneLoss,
  oneNumber,
  oneText,
  toggle,
} from '../flags/kinds.js'
import {
  type NumberRule,
  POSITIVE_INTEGER,
  POSITIVE_NUMBER,
  parseNumber,
  THREADS,
} from '../flags/ranges.js'
import {causalFlags, computeFlags, detailsFlag, parametersFlag, scaleFlag} from '../flags/shared.js'
import {longestTimed} from './bench-model.js'
import {inputFlags, toInputSpec, toLayers, type WithCausal} from './input-spec.js'
import {type SwapFiles, swapFlags} from './swap.js'
import type {PretrainedFacts} from './swap-files.js'
import {listOr} from './values.js'

/** Tolerance of rel_l2 where none is typed. */
const TOLERANCE = 0.05

/** An error that was typed. */
export interface TypedError {
  value: number
  /** It had a per cent sign. */
  percent: boolean
}

/** Reads `0.05` or `5%`. @throws {BAD_RANGE} */
function parseError(text: string): TypedError {
  const [, percent] = /^\s*(.*?)\s*%\s*$/.exec(text) ?? []
  const where = '--tolerance'
  const rule = {...POSITIVE_NUMBER, what: 'a positive error such as 0.05 or 5%'}
  if (percent === undefined) return {value: parseNumber(text, where, rule), percent: false}
  return {value: parseNumber(percent, where, rule) / 100, percent: true}
}

/** Attention over one token copies its value: nothing is to be replaced. */
const TWO_TOKENS: NumberRule = {
  what: 'an integer of at least 2, as attention over one token copies its value',
  integer: true,
  accepts: value => value >= 2,
}

/** Metrics are called as in records; flags are written with dashes, and these may be, too. */
function metricNamed(text: string): AdviceMetric {
  const found = ADVICE_METRICS.find(name => name === text.replaceAll('-', '_'))
  if (found === undefined) throw unknownName('--metric', 'metrics', text, ADVICE_METRICS)
  return found
}

export const adviseFlags = {
  ...inGroup('MODEL', {
    model: oneText(
      'advise on a whole model, by what it loses: folder or name, as rfa swap takes it; in place of an input',
      {helpValue: 'DIR'},
    ),
    engine: swapFlags.engine,
    device: swapFlags.device,
    texts: oneText(
      'texts that the model reads, as rfa swap takes them (default: some of the package)',
      {helpValue: 'PATH'},
    ),
    budget: oneLoss(
      `most loss that is accepted: nats per token of a causal model (default: ${BUDGETS.causal}), 1 - cosine of an encoder (default: ${BUDGETS.encoder})`,
    ),
  }),
  ...inputFlags,
  ...inGroup('INPUT', {scale: scaleFlag(), ...causalFlags}),
  ...inGroup('ADVICE', {
    'seq-len': oneNumber(TWO_TOKENS)(
      'length L to advise for (default: the length of the file, where errors are measured; of a model the most tokens it takes, up to 2048, quick: 512)',
    ),
    tolerance: Flags.custom<TypedError>({parse: async text => parseError(text)})({
      helpValue: 'ERROR',
      description: `largest error that is accepted, 0.05 or 5% (default: ${TOLERANCE} for rel_l2)`,
    }),
    metric: Flags.custom<AdviceMetric>({
      helpValue: 'NAME',
      ...completedWith(ADVICE_METRICS),
      parse: async text => metricNamed(text),
    })({
      description: `metric of errors and tolerance: ${ADVICE_METRICS.join(', ')} (default: rel_l2)`,
    }),
    'budget-ms': oneNumber(POSITIVE_NUMBER)(
      'longest time of a call over all heads in milliseconds (default: any)',
    ),
    methods: nameList({methods: CANDIDATES})(
      `candidates, held against mean-value (averaging V): ${CANDIDATES.join(', ')} ${defaultHelp(ADVICE, grid => grid.methods)}; with --model ${defaultHelp(MODEL_ADVICE, grid => grid.methods)}`,
      {char: 'm'},
    ),
    'num-features': numberList(POSITIVE_INTEGER)(
      `numbers of random vectors M to try: lists a,b and ranges 64..4kx4, with k = 1024 ${defaultHelp(ADVICE, grid => grid.numFeatures)}; with --model ${defaultHelp(MODEL_ADVICE, grid => grid.numFeatures)}`,
    ),
    parameters: parametersFlag('its method is a candidate with and without them, with its M'),
  }),
  ...inGroup('RUN', {
    quick: toggle(
      'fewer candidates, M and runs; with --model fewer texts; for an input --dry-run predicts the time',
    ),
    'dry-run': toggle('print the number of cells and the predicted time, and stop'),
    details: detailsFlag,
    output: oneText(
      'folder of the runs and of advise.json (default: results/advise-<date>-<time>)',
      {char: 'o', helpValue: 'DIR'},
    ),
    resume: toggle(
      'continue the runs in --output: finished cells are kept, so another tolerance, metric or budget costs nothing',
    ),
    seed: computeFlags.seed,
    threads: oneNumber(THREADS)(
      'threads in all, of the timed calls too (default: one per processor)',
    ),
  }),
}
/** What `rfa advise` was asked for; a missing value was not typed. */
export type AdviseFlags = WithCausal<FlagValues<typeof adviseFlags>>
/** The same before a file says whether it is causal. */
export type ModelAdviseFlags = FlagValues<typeof adviseFlags>

const MODEL_FLAGS = ['engine', 'device', 'texts', 'budget'] as const
/** Those that a whole model shares with an input. */
const SHARED_FLAGS = [
  'model',
  'seq-len',
  'methods',
  'num-features',
  'parameters',
  'quick',
  'details',
  'output',
  'resume',
  'seed',
  'threads',
]

/** @throws {USAGE} for a flag of a model without one */
function refuseModelFlags(flags: AdviseFlags): void {
  const given = MODEL_FLAGS.find(name => flags[name] !== undefined)
  if (given === undefined) return
  const suggestions = ['add --model']
  throw new RfaError('USAGE', `--${given}: expected only with a model`, {suggestions})
}

/** @throws {USAGE} for a flag of an input beside a model */
export function refuseInputFlags(flags: ModelAdviseFlags): void {
  const known = [...SHARED_FLAGS, ...MODEL_FLAGS] as readonly string[]
  const names = Object.keys(adviseFlags) as (keyof typeof adviseFlags)[]
  const given = names.find(
    name => !known.includes(name) && flags[name] !== undefined && flags[name] !== false,
  )
  if (given === undefined) return
  if (given === 'input') {
    throw expected('USAGE', '--input', 'one of --input and --model', 'both', 'leave one out')
  }
  const suggestions = [`leave out --${given}`]
  throw new RfaError('USAGE', `--${given}: expected only with an input, got --model`, {suggestions})
}

/** @throws {BAD_RANGE} for a length that the model does not read */
function refuseLongTexts(
  {model, 'seq-len': seqLen}: ModelAdviseFlags,
  facts: Pick<ModelFacts, 'maxTokens' | 'window'>,
): void {
  const most = mostTokens(facts)
  if (seqLen === undefined || seqLen <= most) return
  const wanted = `at most ${most}, the tokens that ${model} reads`
  throw expected('BAD_RANGE', '--seq-len', wanted, String(seqLen), `--seq-len ${most}`)
}

/** Draws of learned random vectors below which the median error has no 95 % interval. */
const FEWEST_DRAWS = 6

/** The draws of {@link withLearned}. @throws {UNSUPPORTED} for too few of them for an interval over draws alone */
function refuseFewDraws(file: TunedFile | undefined): void {
  const draws = file && tunedSpecOf(file).draws
  if (!draws || draws >= FEWEST_DRAWS) return
  const wanted = `random vectors of at least ${FEWEST_DRAWS} draws, without which an error has no interval`
  const remedies = [`rfa tune --draws ${FEWEST_DRAWS}`, 'or rfa tune --learn maps']
  throw expected('UNSUPPORTED', file.path, wanted, `${draws}`, ...remedies)
}

/**
 * Candidates with those that a file of learned parameters is of, without and with them.
 *
 * @throws {UNSUPPORTED} for parameters of a method with options, as times are those of methods as they are
 */
function withLearned(
  {methods, numFeatures}: Pick<AdviceRequest, 'methods' | 'numFeatures'>,
  file: TunedFile | undefined,
): Pick<AdviceRequest, 'methods' | 'numFeatures' | 'tuned'> {
  if (!file) return {methods, numFeatures}
  const {method, preset, options} = file
  if (preset !== 'exact' || Object.keys(options).length > 0) {
    const got = methodLabel({method, preset, options: {...options}})
    const remedy = 'tune the method without them'
    const wanted = 'parameters of a method without options and preset'
    throw expected('UNSUPPORTED', file.path, wanted, got, remedy)
  }
  const counts = [...numFeatures, ...(file.numFeatures ? [file.numFeatures] : [])]
  return {
    methods: [...new Set([...methods, method])],
    tuned: {method, preset, options: {}, tuned: tunedSpecOf(file)},
    numFeatures: [...new Set(counts)].sort((a, b) => a - b),
  }
}

/**
 * What to measure and to advise on, of a whole model.
 *
 * @param tuned - learned parameters. Default: none
 * @throws {BAD_RANGE} for a length that the model does not read
 * @throws {UNSUPPORTED} for parameters of a method with options
 * @throws {ARRAY_MISSING | SHAPE_MISMATCH} for parameters of another model
 */
export function toModelAdviceRequest(
  flags: ModelAdviseFlags,
  {facts, pinned: model, engine, device}: PretrainedFacts,
  {path, digest, lines}: SwapFiles['texts'],
  tuned?: TunedFile,
): ModelAdviceRequest {
  refuseLongTexts(flags, facts)
  const grid = gridOf(MODEL_ADVICE, flags)
  if (tuned) {
    for (let layer = 0; layer < facts.layers; layer++) assertTunedFits(tuned, layer, facts)
  }
  return {
    model,
    ...(engine && {engine}),
    ...(device && {device}),
    texts: {path, digest, count: Math.min(grid.texts, lines)},
    maxTokens: Math.min(grid.maxTokens, facts.maxTokens),
    layers: facts.layers,
    causal: facts.causal,
    budget: flags.budget ?? BUDGETS[facts.causal ? 'causal' : 'encoder'],
    seqLen: flags['seq-len'] ?? longestTimed(facts, flags),
    ...withLearned(candidatesOf(flags, grid), tuned),
    effort: flags.quick ? 'quick' : 'full',
    seed: flags.seed ?? 0,
    threads: flags.threads ?? null,
  }
}

/** @throws {USAGE} where a share of the output is meant and another metric is asked for, or more than all of it */
function toleranceOf(metric: AdviceMetric, typed: TypedError | undefined): number {
  const {value, percent} = typed ?? {value: TOLERANCE, percent: false}
  if (metric !== 'rel_l2') {
    if (!percent) return value
    const got = `${100 * value}%`
    throw expected('USAGE', '--tolerance', `a number with --metric ${metric}`, got)
  }
  if (value <= 1) return value
  const got = percent ? `${100 * value}%` : `${value} (${100 * value} %)`
  const remedies = percent || value > 100 ? [] : [`for ${value} per cent write ${value}%`]
  throw expected('USAGE', '--tolerance', 'at most 1 (100%), such as 0.05 or 5%', got, ...remedies)
}

/** The methods and the M that are named, or those of a grid. */
function candidatesOf(
  flags: ModelAdviseFlags,
  grid: Pick<AdviceRequest, 'methods' | 'numFeatures'>,
): Pick<AdviceRequest, 'methods' | 'numFeatures'> {
  return {
    methods: [...new Set(flags.methods ?? grid.methods)],
    numFeatures: listOr(flags['num-features'], '--num-features', grid.numFeatures),
  }
}

/**
 * What to measure and to advise on.
 *
 * @param tuned - learned parameters. Default: none
 * @throws {USAGE} when the flags contradict each other
 * @throws {UNSUPPORTED} for parameters of a method with options, or of too few draws for an interval
 */
export function toAdviceRequest(flags: AdviseFlags, tuned?: TunedFile): AdviceRequest {
  refuseModelFlags(flags)
  refuseFewDraws(tuned)
  const grid = gridOf(ADVICE, flags)
  const {metric = 'rel_l2', tolerance} = flags
  if (metric !== 'rel_l2' && tolerance === undefined) {
    throw expected('USAGE', '--metric', `--tolerance with ${metric}`, 'none', 'add --tolerance')
  }
  return {
    input: toInputSpec(flags),
    layers: toLayers(flags),
    logitScale: flags.scale,
    causal: flags.causal,
    causalAlign: flags['causal-align'],
    metric,
    tolerance: toleranceOf(metric, tolerance),
    budgetMs: flags['budget-ms'] ?? null,
    seqLen: flags['seq-len'] ?? null,
    ...withLearned(candidatesOf(flags, grid), tuned),
    effort: flags.quick ? 'quick' : 'full',
    seed: flags.seed ?? 0,
    threads: flags.threads ?? null,
  }
}
