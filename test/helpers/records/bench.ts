/** Plan, records and a run of benchmarks, with round numbers. */

import benchExperiment from '../../../src/experiments/bench/index.js'
import {markOf} from '../../../src/experiments/bench/measure/decoding.js'
import {quoted} from '../../../src/experiments/bench/measure/timing.js'
import type {
  BenchCell,
  BenchPlan,
  BenchResult,
  TimedRecord,
} from '../../../src/experiments/bench/schema.js'
import type {InProcesses} from '../../../src/experiments/bench/times/processes.js'
import {type RandomStream, randomStream} from '../../../src/random/index.js'
import type {RunManifest} from '../../../src/results/folder/manifest.js'
import {cellKey} from '../../../src/results/keys.js'
import {MACHINE} from './machine.js'
import {madeBy} from './made-by.js'

const BENCH_CELL: BenchCell = {
  ...{method: 'favor-pos', preset: 'exact', options: {}, projection: 'orth', orth_sign: 'haar'},
  ...{redraw: 'fixed', num_features: 64, seq_len: 128, batch: 1, heads: 2, head_dim: 17},
  ...{value_dim: 13, causal: false},
  ...{timing: {warmup_runs: 1, min_runs: 3, max_runs: 50, min_time_ns: 1e8}, seed: 0},
  ...{backend: 'auto', threads: null},
}

/** Runs of a machine that has nothing else to do: within 2 % of their median, slow and fast ones mixed. */
export const steady = (median: number, runs = 12): number[] =>
  Array.from({length: runs}, (_, at) => median * (1 + 0.01 * [-2, 1, -1, 2][at % 4]!))

/** Standard deviation of processes, as a share of the time. */
const APART = 0.01

/** What each of three processes of a cell takes over the usual time: factors of its own, whose product is 1. */
function factorsOf(cell: BenchCell, backend?: string): number[] {
  const {method, projection, num_features, seq_len, batch} = cell
  const name = [method, projection, num_features, batch, backend].join(' ')
  const turn = randomStream(seq_len, name).uniform()
  // logarithms at thirds of a circle: they have a mean of 0 and a variance of 3 / 4
  const scale = APART / Math.sqrt(3 / 4)
  return [0, 1, 2].map(at => Math.exp(scale * Math.cos(2 * Math.PI * (turn + at / 3))))
}

/** Steady runs of processes that have these medians. @param turns - of each, of four runs */
export function inProcesses(medians: readonly number[], turns = 1): Times {
  return {
    samples_ns: medians.flatMap(median => steady(median, 4 * turns)),
    turn_runs: medians.flatMap(() => Array.from({length: turns}, () => 4)),
    process_turns: medians.map(() => turns),
  }
}

/** Runs of one process, in one turn. */
export function oneProcess(samples_ns: number[]): Times {
  return {samples_ns, turn_runs: [samples_ns.length], process_turns: [1]}
}

type Times = {[Name in keyof InProcesses]: number[]}

/**
 * A completed cell that took `median` ns, by three processes that differ by 1 %; or the runs of `result`, by one process where
 * that names none.
 */
export function timed(
  changes: Partial<BenchCell> = {},
  median = 1e6,
  result: Partial<BenchResult> = {},
): TimedRecord {
  const cell = {...BENCH_CELL, ...changes}
  const {waited_ns = 0} = result
  return {
    schema: benchExperiment.schema,
    key: cellKey(benchExperiment.schema, cell),
    cell,
    status: 'completed',
    result: {
      feature_dim: 64,
      ...madeBy({backend: 'wasm', instruction_set: 'simd128'}),
      threads: 1,
      operations: {softmaxAttention: 'composite'},
      gate: {max_abs_error: 1e-7, bound: 1e-5, rows: 31},
      ...quoted(timesOf(cell, median, result), waited_ns),
      ...{conditions: null, projection_ns: 2e5, work_flops: 3e6, fma_peak_gflops: null},
      live_bytes: 2 ** 20,
      peak_rss_over_baseline_bytes: 3 * 2 ** 20,
      ...result,
    },
  }
}

function timesOf(cell: BenchCell, median: number, result: Partial<BenchResult>): Times {
  const {samples_ns, backend} = result
  if (!samples_ns) return inProcesses(factorsOf(cell, backend).map(factor => factor * median))
  const {turn_runs = [samples_ns.length]} = result
  const {process_turns = [turn_runs.length]} = result
  return {samples_ns, turn_runs, process_turns}
}

/**
 * A completed cell that three processes took in four turns of one run each.
 *
 * @param noise - standard deviation of each run, as a share, independent of other methods and lengths
 */
export function timedInTurns(
  changes: Partial<BenchCell>,
  median: number,
  result: Partial<BenchResult> = {},
  noise = 0.01,
): TimedRecord {
  const {method, seq_len} = {...BENCH_CELL, ...changes}
  const factors = noisyTurns(randomStream(seq_len, method), noise)
  const samples_ns = factors.samples_ns.map(factor => factor * median)
  return timed(changes, median, {...factors, samples_ns, ...result})
}

/** Noise of three processes with four turns of one run each, about 1. */
export function noisyTurns(stream: RandomStream, noise: number): Times {
  return {
    samples_ns: Array.from({length: 12}, () => Math.exp(noise * stream.normal())),
    turn_runs: Array.from({length: 12}, () => 1),
    process_turns: [4, 4, 4],
  }
}

/** An exact form: no projection, no features. */
export const exactForm = (method: string, seq_len: number, median: number) =>
  timed({method, projection: null, num_features: null, seq_len}, median, {feature_dim: 0})

/**
 * A model of four layers, a forward of which takes `ms`, with attention exchanged in some: as it is, without attention, and with
 * methods that draw nothing.
 */
export function modelTimes(
  layers: number[],
  ms: Readonly<Record<string, number>>,
  changes: Partial<BenchCell> = {},
): TimedRecord[] {
  const own = {mode: 'model' as const, model: {folder: 'fixtures/charlm', digest: 'a'}, layers}
  const free = {projection: null, num_features: null}
  return Object.entries(ms).map(([method, time]) =>
    timed({...own, ...free, method, ...changes}, 1e6 * time, {
      ...{model_kind: 'gpt2', model_layers: 4, live_bytes: null, feature_dim: 0},
    }),
  )
}

/**
 * A decode, each token of which takes `token` ns and `more` ns for each before it; looked at after 25, 64 and 100.
 *
 * @param runs - every run over the usual one; by default those of three processes that differ by 1 %
 * @param looked - numbers of tokens to look at instead
 */
export function decoded(
  changes: Partial<BenchCell>,
  {token, more = 0}: {token: number; more?: number},
  runs: Times = inProcesses(factorsOf({...BENCH_CELL, ...changes})),
  looked: readonly number[] = [25, 64, 100],
): TimedRecord {
  const {samples_ns, ...turns} = runs
  const marks = looked.map(tokens => {
    const total = (tokens - 1) * token + (more * tokens * (tokens - 1)) / 2
    const last = token + more * tokens
    const totals = samples_ns.map(x => x * total)
    const latencies = samples_ns.map(x => x * last)
    return markOf({tokens, state_bytes: more > 0 ? 240 * tokens : 12288, totals, latencies}, turns)
  })
  const seq_len = looked.at(-1)!
  const lengths = {mode: 'decode' as const, seq_len, lengths: [looked[0]!, seq_len], causal: true}
  const {total_ns, total_samples_ns} = marks.at(-1)!
  const feature_dim = changes.projection === null ? 0 : 64
  const extra = {marks, first_token_ns: 5e4, ...turns, samples_ns: total_samples_ns, feature_dim}
  return timed({...lengths, ...changes}, total_ns, extra)
}

export const BENCH_PLAN: BenchPlan = {
  experiment: 'bench',
  methods: [{method: 'favor-pos', preset: 'exact', options: {}}],
  ...{projections: ['orth'], orth_sign: 'haar', redraw: 'fixed', num_features: [64]},
  ...{seq_lens: [128], batch: 1, heads: 2, head_dim: 17, value_dim: 13, causal: false},
  timing: BENCH_CELL.timing,
  ...{order: 'listed', seed: 7, backend: 'wasm', threads: null},
}

export const BENCH_MANIFEST: RunManifest = {
  schema: 'rfa.run/2',
  created_at: '2026-01-02T03:04:05.000Z',
  argv: ['rfa', 'bench', '--quick'],
  machine: MACHINE,
  plan: BENCH_PLAN,
}
