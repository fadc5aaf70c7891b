import {type OrthSign, type PresetName, parseRedraw} from '../../attention/names.js'
import {expected} from '../../errors.js'
import {type BenchPlan, benchPlan, type TimingProtocol} from '../../experiments/bench/schema.js'
import type {OptionAssignment} from '../flags.js'
import {BASELINES, BENCH, gridOf} from './defaults.js'
import {type EstimatorFacts, toMethodSpecs} from './method-specs.js'
import {checkedPlan, listOr, projectionsOr} from './values.js'

/** What `rfa bench` was asked for; a missing value was not typed. */
export interface BenchFlags {
  /** Take the grid of seconds where nothing was typed. */
  quick: boolean
  methods?: readonly string[] | undefined
  /** Time the exact forms too. */
  baseline: boolean
  projections?: readonly string[] | undefined
  'orth-sign'?: OrthSign | undefined
  /** When projections are drawn anew. */
  redraw?: string | undefined
  'num-features'?: readonly (readonly number[])[] | undefined
  preset?: readonly PresetName[] | undefined
  option?: readonly OptionAssignment[] | undefined
  'seq-len'?: readonly (readonly number[])[] | undefined
  batch?: number | undefined
  heads?: number | undefined
  'head-dim'?: number | undefined
  'value-dim'?: number | undefined
  causal: boolean
  /** Runs before timing. */
  warmup?: number | undefined
  /** Seconds. */
  'min-time'?: number | undefined
  'min-runs'?: number | undefined
  'max-runs'?: number | undefined
  order?: 'listed' | 'random' | undefined
  /** Threads of the backend; its own choice when not given. */
  threads?: number | undefined
  seed?: number | undefined
  backend?: string | undefined
}

/**
 * The plan of a benchmark. Both exact forms join the methods, so that every speed-up has something
 * to stand on, unless `baseline` is off.
 *
 * @param estimators - the registry, for options and presets
 * @throws {USAGE | BAD_RANGE | BAD_OPTION | UNKNOWN_NAME} when the flags make no plan
 */
export function toBenchPlan(flags: BenchFlags, estimators: EstimatorFacts): BenchPlan {
  const grid = gridOf(BENCH, flags)
  const headDim = flags['head-dim'] ?? grid.headDim
  return checkedPlan(benchPlan, {
    experiment: 'bench',
    methods: withBaselines(toMethodSpecs(flags, grid.methods, estimators), flags.baseline),
    projections: projectionsOr(flags.projections, grid.projections),
    orth_sign: flags['orth-sign'] ?? 'haar',
    redraw: redrawOf(flags.redraw ?? 'fixed', flags.heads ?? grid.heads),
    num_features: listOr(flags['num-features'], '--num-features', grid.numFeatures),
    seq_lens: listOr(flags['seq-len'], '--seq-len', grid.seqLens),
    batch: flags.batch ?? grid.batch,
    heads: flags.heads ?? grid.heads,
    head_dim: headDim,
    value_dim: flags['value-dim'] ?? headDim,
    causal: flags.causal,
    timing: timing(flags),
    order: flags.order ?? 'random',
    seed: flags.seed ?? 0,
    backend: flags.backend ?? 'auto',
    threads: flags.threads ?? null,
  })
}

/** Exact forms come first; one that was asked for anyway stays where it was put. */
function withBaselines(methods: BenchPlan['methods'], wanted: boolean): BenchPlan['methods'] {
  if (!wanted) return methods
  const present = new Set(methods.map(({method}) => method))
  const missing = BASELINES.filter(method => !present.has(method))
  return [...missing.map(method => ({method, preset: 'exact' as const, options: {}})), ...methods]
}

/** The policy as written, if it can be kept. @throws {BAD_OPTION} for a pool smaller than the number of heads */
function redrawOf(text: string, heads: number): string {
  const policy = parseRedraw(text, '--redraw')
  if (policy.kind !== 'pool' || policy.size >= heads) return text
  throw expected('BAD_OPTION', '--redraw', `a pool of at least ${heads} matrices`, text)
}

/** How long to measure. A bound that was typed moves the default of the other one out of its way. */
function timing(flags: BenchFlags): TimingProtocol {
  const grid = gridOf(BENCH, flags)
  const minRuns = flags['min-runs'] ?? Math.min(grid.minRuns, flags['max-runs'] ?? grid.minRuns)
  const maxRuns = flags['max-runs'] ?? Math.max(grid.maxRuns, minRuns)
  if (maxRuns < minRuns) {
    throw expected('USAGE', '--max-runs', `at least --min-runs ${minRuns}`, String(maxRuns))
  }
  return {
    warmup_runs: flags.warmup ?? grid.warmupRuns,
    min_runs: minRuns,
    max_runs: maxRuns,
    min_time_ns: Math.round((flags['min-time'] ?? grid.minTime) * 1e9),
  }
}
