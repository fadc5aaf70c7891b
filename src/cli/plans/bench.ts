import * as Flags from '@oclif/core/flags'
import {parseRedraw, REDRAW_FORMS} from '../../attention/names.js'
import {BACKEND_CHOICES, type BackendChoice} from '../../backends/index.js'
import {expected} from '../../errors.js'
import {type MethodSpec, plainSpec} from '../../experiments/axes.js'
import {BASELINES, baselinesOf, PASS_THROUGH} from '../../experiments/bench/fields/baselines.js'
import {areGrouped, kvHeadsOf} from '../../experiments/bench/fields/grouped.js'
import {benchSizesOf} from '../../experiments/bench/fields/model.js'
import {axisOf} from '../../experiments/bench/fields/one-or-more.js'
import {PEER_NAMES} from '../../experiments/bench/fields/peers.js'
import {
  BENCH_MODES,
  type BenchPlan,
  benchPlan,
  type TimingProtocol,
} from '../../experiments/bench/schema.js'
import {distinct} from '../../experiments/cells.js'
import {assertTunedFits, type TunedFile} from '../../tuned/index.js'
import {defaultHelp, type Grid, gridOf} from '../flags/defaults.js'
import {
  type FlagValues,
  inGroup,
  nameList,
  numberList,
  oneNumber,
  oneOption,
  toggle,
} from '../flags/kinds.js'
import {COUNT, POSITIVE_INTEGER, SECONDS} from '../flags/ranges.js'
import {causalFlags, methodFlags, parametersFlag, runFlags, timedFlags} from '../flags/shared.js'
import {benchInputFlags, type FileShape} from './bench-input.js'
import {benchModelFlags, modelLayers, modelLengths} from './bench-model.js'
import {type EstimatorFacts, toMethodSpecs} from './method-specs.js'
import type {PretrainedFacts} from './swap-files.js'
import {withTuned, withTunedDraws} from './tuned.js'
import {checkedPlan, drawAxesOf, listOr} from './values.js'

/** A benchmark varies the length and says how long to measure. */
interface BenchGrid extends Grid {
  seqLens: readonly number[]
  batch: number
  heads: number
  headDim: number
  processes: number
  warmupRuns: number
  minRuns: number
  maxRuns: number
  /** Seconds. */
  minTime: number
}

/** The quick benchmark ends behind the crossover of small shapes, and warms up until compilers are done. */
export const BENCH: Record<'standard' | 'quick', BenchGrid> = {
  standard: {
    methods: ['favor-pos', 'favor-trig', 'rfa', 'elu'],
    projections: ['orth'],
    numFeatures: [256],
    seqLens: [256, 512, 1024, 2048, 4096],
    batch: 1,
    heads: 8,
    headDim: 64,
    processes: 5,
    warmupRuns: 1,
    minRuns: 10,
    maxRuns: 200,
    minTime: 0.75,
  },
  quick: {
    methods: ['favor-pos', 'elu'],
    projections: ['orth'],
    numFeatures: [64],
    seqLens: [256, 512, 1024],
    batch: 1,
    heads: 2,
    headDim: 64,
    processes: 3,
    warmupRuns: 10,
    minRuns: 10,
    maxRuns: 2000,
    minTime: 0.3,
  },
}

/** Models warm up on short texts, run once before the clock starts, and take so long that few runs must do. */
const MODEL = {standard: {warmupRuns: 0, minRuns: 15}, quick: {warmupRuns: 0, minRuns: 9}}

/** Decodes before timing: with many tokens compilers are done after the first one. */
const DECODE_WARMUP = 1

const size = oneNumber(POSITIVE_INTEGER)

export const benchFlags = {
  ...benchInputFlags,
  ...benchModelFlags,
  ...methodFlags(BENCH),
  ...inGroup('GRID', {
    parameters: parametersFlag(
      'its method is timed with and without them, at its heads and head dimension; maps fold into the projections of a model and are applied before the clock starts',
    ),
    mode: oneOption(['forward', ...BENCH_MODES] as const)(
      'what is timed: forward passes of the attention alone, the recurrent form one token after the other up to the longest of --seq-len (decode), forward passes of a transformer layer around it (layer), or of a whole model (model) (default: forward; with --model: model)',
    ),
    exact: Flags.boolean({
      allowNo: true,
      default: true,
      description: `time ${BASELINES.join(' and ')} in addition to the methods; a decode only needs the first, a layer also gets ${PASS_THROUGH}, and a model its own attention and ${PASS_THROUGH} (default: yes)`,
    }),
    redraw: Flags.string({
      helpValue: 'POLICY',
      description: `when projections are drawn anew, inside the timed region: ${REDRAW_FORMS} (default: fixed)`,
    }),
    'seq-len': numberList(POSITIVE_INTEGER)(
      `lengths L; of a decode, the numbers of tokens after which it is looked at ${defaultHelp(BENCH, grid => grid.seqLens)}; with --model powers of two up to what it reads`,
    ),
    batch: numberList(POSITIVE_INTEGER)(
      `batches B, compared each by itself ${defaultHelp(BENCH, grid => grid.batch)}`,
    ),
    heads: size(`heads H ${defaultHelp(BENCH, grid => grid.heads)}`),
    'kv-heads': size(
      'heads Hkv of keys and values, a divisor of --heads (default: equal). No kernel here shares heads: each is repeated for its queries inside the timed region, as in a model without a kernel for it; a decode repeats each token, and its state has H heads',
    ),
    'head-dim': size(`head dimension D ${defaultHelp(BENCH, grid => grid.headDim)}`),
    'value-dim': size('value dimension Dv (default: D)'),
    causal: causalFlags.causal,
  }),
  ...inGroup('TIMING', {
    processes: oneNumber(POSITIVE_INTEGER)(
      `fresh processes; each times all cells in turns, and a cell's runs and time are divided among them; intervals take two or more ${defaultHelp(BENCH, grid => grid.processes)}`,
    ),
    warmup: oneNumber(COUNT)(
      `runs of each process before timing ${defaultHelp(BENCH, grid => grid.warmupRuns)}; decode: ${DECODE_WARMUP}; model: ${MODEL.standard.warmupRuns}`,
    ),
    'min-time': oneNumber(SECONDS)(
      `time each cell for at least this long, in all processes together ${defaultHelp(BENCH, grid => grid.minTime)}`,
      {helpValue: 'SECONDS'},
    ),
    'min-runs': oneNumber(POSITIVE_INTEGER)(
      `at least this many runs of a cell, in all processes together ${defaultHelp(BENCH, grid => grid.minRuns)}; model: ${MODEL.standard.minRuns}, quick: ${MODEL.quick.minRuns}`,
    ),
    'max-runs': oneNumber(POSITIVE_INTEGER)(
      `at most this many runs of a cell ${defaultHelp(BENCH, grid => grid.maxRuns)}`,
    ),
    order: oneOption(['listed', 'random'] as const)(
      'order of the cells; random spreads drift over all of them (default: random)',
    ),
  }),
  ...timedFlags,
  ...runFlags,
  ...inGroup('RUN', {
    backend: nameList({backends: BACKEND_CHOICES})(
      `where to compute: ${BACKEND_CHOICES.join(', ')}; several are compared in one run, with the first of native, tensorflow, wasm, cpu that is among them (default: auto, the first of the others that runs; rfa doctor shows which do)`,
    ),
  }),
  ...inGroup('GRID', {
    peers: nameList({peers: PEER_NAMES})(
      'other implementations to time in the same run, where they are installed: torch (PyTorch in python3, or in RFA_PYTHON) with softmax, softmax-online (its fused attention), favor-pos, rfa and elu; forward passes only',
    ),
  }),
  ...inGroup('TIMING', {
    breakdown: toggle(
      'time the parts of each forward, too: drawing, feature map, contraction, guard; forward passes only',
    ),
  }),
}
/** What `rfa bench` was asked for; a missing value was not typed. */
export type BenchFlags = FlagValues<typeof benchFlags>
/** Those that a plan is made of. */
type PlanFlags = Partial<BenchFlags> & Pick<BenchFlags, 'exact' | 'quick' | 'breakdown'>

/**
 * The plan of a benchmark. Both exact forms join the methods, so that every speed-up has something
 * to stand on, unless `exact` is off.
 *
 * @param estimators - the registry, for options and presets
 * @param file - sizes of a file, in place of those of flags and grid. Default: none
 * @param tuned - learned parameters. Default: none
 * @param model - the model that is timed as a whole. Default: none
 * @throws {SHAPE_MISMATCH} for parameters of other heads or another head dimension
 * @throws {USAGE | BAD_RANGE | BAD_OPTION | UNKNOWN_NAME} when the flags make no plan
 */
export function toBenchPlan(
  flags: PlanFlags,
  estimators: EstimatorFacts,
  file?: FileShape,
  tuned?: TunedFile,
  model?: PretrainedFacts,
): BenchPlan {
  const grid = withTunedDraws(gridOf(BENCH, flags), tuned)
  const sizes = file
    ? sizesOfFile(file)
    : model
      ? {batch: batchOf(flags, grid), ...benchSizesOf(model.facts)}
      : typedSizes(flags, {...grid, ...shapeOf(tuned)})
  if (tuned) assertFits(tuned, sizes)
  const mode = flags.mode === 'forward' ? undefined : (flags.mode ?? (model && 'model'))
  if (mode === 'decode') refuseForwardFlags(flags)
  if (mode && flags.breakdown) throw onlyForward(mode, '--breakdown', ', which have parts')
  if (mode && flags.peers) throw onlyForward(mode, '--peers')
  const methods = withTuned(toMethodSpecs(flags, grid.methods, estimators), tuned)
  refuseUntimed(methods, flags.peers, estimators)
  return checkedPlan(benchPlan, {
    experiment: 'bench',
    ...(mode && {mode}),
    ...(model && {model: model.pinned, layers: modelLayers(model, flags.layers)}),
    ...(model?.engine && {engine: model.engine, ...(model.device && {device: model.device})}),
    methods: withBaselines(methods, flags.exact ? baselinesOf(mode) : []),
    ...drawAxesOf(flags, grid),
    redraw: redrawOf(flags.redraw ?? 'fixed', sizes.heads),
    seq_lens: lengthsOf(flags, grid, file, model),
    ...sizes,
    causal: (flags.causal ?? file?.causal ?? model?.facts.causal ?? false) || mode === 'decode',
    timing: timing(flags, mode),
    ...(flags.breakdown && {breakdown: true as const}),
    order: flags.order ?? 'random',
    seed: flags.seed ?? 0,
    backend: backendsOf(flags.backend),
    ...(flags.peers && {peers: distinct(flags.peers)}),
    threads: flags.threads ?? null,
  })
}

/** Lengths that are typed, else those of the file or of the model. @throws {UNSUPPORTED} for one that the model does not read */
function lengthsOf(
  flags: PlanFlags,
  grid: BenchGrid,
  file: FileShape | undefined,
  model: PretrainedFacts | undefined,
): number[] {
  const usual = file ? [file.queryLen] : grid.seqLens
  const lengths = listOr(flags['seq-len'], '--seq-len', usual)
  if (!model) return lengths
  return modelLengths(model, flags['seq-len'] && lengths, flags)
}

/** @throws {USAGE} for methods in Python without the peer that times them: all of their cells would be skipped */
function refuseUntimed(
  methods: readonly MethodSpec[],
  peers: BenchFlags['peers'],
  estimators: EstimatorFacts,
): void {
  const untimed = methods.find(({method}) => estimators[method]?.python !== undefined)
  if (untimed === undefined || peers?.includes('torch')) return
  const what = 'the peer that times methods in Python'
  throw expected('USAGE', '--peers', what, `${untimed.method} without it`, 'add --peers torch')
}

/** Sizes that learned parameters are of. */
function shapeOf(tuned: TunedFile | undefined) {
  return tuned && {heads: tuned.heads, keyHeads: tuned.keyHeads, headDim: tuned.headDim}
}

function assertFits(tuned: TunedFile, {heads, kv_heads = heads, head_dim}: BenchSizes): void {
  const sizes = {heads, keyHeads: kv_heads, headDim: head_dim}
  assertTunedFits(tuned, tuned.layers[0]?.layer, sizes)
}

type BenchSizes = Pick<BenchPlan, 'batch' | 'heads' | 'kv_heads' | 'head_dim' | 'value_dim'>

function sizesOfFile({batch, heads, keyHeads, headDim, valueDim}: FileShape): BenchSizes {
  const shared = kvHeadsOf({heads, kv_heads: keyHeads})
  return {batch, heads, ...shared, head_dim: headDim, value_dim: valueDim}
}

/** @throws {USAGE} for heads of keys and values that heads of queries cannot share evenly */
function typedSizes(flags: PlanFlags, grid: BenchGrid & {keyHeads?: number}): BenchSizes {
  const {heads = grid.heads, 'head-dim': head_dim = grid.headDim} = flags
  const kv_heads = flags['kv-heads'] ?? (flags.heads === undefined ? grid.keyHeads : undefined)
  if (!areGrouped({heads, kv_heads})) {
    const what = `a number that divides --heads ${heads}`
    const remedy = `--kv-heads ${divisorBelow(heads, kv_heads!)}`
    throw expected('USAGE', '--kv-heads', what, String(kv_heads), remedy)
  }
  return {
    batch: batchOf(flags, grid),
    heads,
    ...kvHeadsOf({heads, kv_heads}),
    head_dim,
    value_dim: flags['value-dim'] ?? head_dim,
  }
}

function batchOf(flags: PlanFlags, grid: BenchGrid): BenchPlan['batch'] {
  return axisOf(listOr(flags.batch, '--batch', [grid.batch]))
}

/** The largest divisor of a number that is not above a bound. */
function divisorBelow(whole: number, bound: number): number {
  let part = Math.min(whole, bound)
  while (whole % part !== 0) part--
  return part
}

/** Exact forms come first; one that was asked for anyway stays where it was put. */
function withBaselines(
  methods: BenchPlan['methods'],
  baselines: readonly string[],
): BenchPlan['methods'] {
  const present = new Set(methods.map(({method}) => method))
  const missing = baselines.filter(method => !present.has(method))
  return [...missing.map(plainSpec), ...methods]
}

/** @throws {USAGE} for `auto` together with others, since it is one of them */
function backendsOf(names: readonly BackendChoice[] = ['auto']): BenchPlan['backend'] {
  if (names.includes('auto') && names.some(name => name !== 'auto')) {
    throw expected('USAGE', '--backend', 'auto alone, or names of backends', names.join(','))
  }
  return axisOf(names)
}

/** @throws {USAGE} for what means nothing to a decode */
function refuseForwardFlags({redraw, causal}: PlanFlags): void {
  if (causal === false) {
    const what = 'nothing else with --mode decode, which is always causal'
    throw expected('USAGE', '--causal', what, '--no-causal')
  }
  if (redraw === undefined || redraw === 'fixed') return
  const why = 'nothing with --mode decode: projections last for a sequence'
  throw expected('USAGE', '--redraw', why, redraw)
}

function onlyForward(mode: string, flag: string, more = '') {
  const why = `forward passes of the attention alone${more}`
  return expected('USAGE', flag, why, `--mode ${mode}`)
}

/** The policy as written, if it can be kept. @throws {BAD_OPTION} for a pool smaller than the number of heads */
function redrawOf(text: string, heads: number): string {
  const policy = parseRedraw(text, '--redraw')
  if (policy.kind !== 'pool' || policy.size >= heads) return text
  throw expected('BAD_OPTION', '--redraw', `a pool of at least ${heads} matrices`, text)
}

/** How long to measure. A bound that was typed moves the default of the other one out of its way. */
function timing(flags: PlanFlags, mode: BenchPlan['mode']): TimingProtocol {
  const grid = {...gridOf(BENCH, flags), ...(mode === 'model' && gridOf(MODEL, flags))}
  const minRuns = flags['min-runs'] ?? Math.min(grid.minRuns, flags['max-runs'] ?? grid.minRuns)
  const maxRuns = flags['max-runs'] ?? Math.max(grid.maxRuns, minRuns)
  if (maxRuns < minRuns) {
    throw expected('USAGE', '--max-runs', `at least --min-runs ${minRuns}`, String(maxRuns))
  }
  return {
    processes: flags.processes ?? grid.processes,
    warmup_runs: flags.warmup ?? (mode === 'decode' ? DECODE_WARMUP : grid.warmupRuns),
    min_runs: minRuns,
    max_runs: maxRuns,
    min_time_ns: Math.round((flags['min-time'] ?? grid.minTime) * 1e9),
  }
}
