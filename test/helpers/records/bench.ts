/** Plan, records and a run of benchmarks, with round numbers. */

import type {DecodeMark} from '../../../src/experiments/bench/marks.js'
import {medianOfRuns} from '../../../src/experiments/bench/noise.js'
import type {
  BenchCell,
  BenchPlan,
  BenchResult,
  TimedRecord,
} from '../../../src/experiments/bench/schema.js'
import benchExperiment from '../../../src/experiments/bench/schema.js'
import {quoted} from '../../../src/experiments/bench/timing.js'
import {randomStream} from '../../../src/random/index.js'
import {cellKey} from '../../../src/results/keys.js'
import type {RunManifest} from '../../../src/results/manifest.js'
import {MACHINE} from './machine.js'
import {madeBy} from './made-by.js'

const BENCH_CELL: BenchCell = {
  method: 'favor-pos',
  preset: 'exact',
  options: {},
  projection: 'orth',
  orth_sign: 'haar',
  redraw: 'fixed',
  num_features: 64,
  seq_len: 128,
  batch: 1,
  heads: 2,
  head_dim: 17,
  value_dim: 13,
  causal: false,
  timing: {warmup_runs: 1, min_runs: 3, max_runs: 50, min_time_ns: 1e8},
  seed: 0,
  backend: 'auto',
  threads: null,
}

/** Runs of a machine that has nothing else to do: within 2 % of their median, slow and fast ones mixed. */
export const steady = (median: number, runs = 12): number[] =>
  Array.from({length: runs}, (_, at) => median * (1 + 0.01 * [-2, 1, -1, 2][at % 4]!))

/** A completed cell that took `median` ns, or the runs of `result`. */
export function timed(
  changes: Partial<BenchCell> = {},
  median = 1e6,
  result: Partial<BenchResult> = {},
): TimedRecord {
  const cell = {...BENCH_CELL, ...changes}
  const {samples_ns = steady(median), waited_ns = 0} = result
  const {turn_runs = [samples_ns.length]} = result
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
      ...quoted(samples_ns, waited_ns, turn_runs),
      conditions: null,
      projection_ns: 2e5,
      work_flops: 3e6,
      fma_peak_gflops: null,
      live_bytes: 2 ** 20,
      peak_rss_over_baseline_bytes: 3 * 2 ** 20,
      ...result,
    },
  }
}

/**
 * A completed cell that took twelve turns of one run each.
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
  const normals = new Float64Array(12)
  randomStream(seq_len, method).fillNormals(normals)
  const samples_ns = Array.from(normals, normal => median * Math.exp(noise * normal))
  return timed(changes, median, {samples_ns, turn_runs: samples_ns.map(() => 1), ...result})
}

/** An exact form: no projection, no features. */
export const exactForm = (method: string, seq_len: number, median: number) =>
  timed({method, projection: null, num_features: null, seq_len}, median, {feature_dim: 0})

/**
 * A decode, each token of which takes `token` ns and `more` ns for each before it; looked at after 25, 64 and 100.
 *
 * @param samples - every run over the usual one
 * @param looked - numbers of tokens to look at instead
 */
export function decoded(
  changes: Partial<BenchCell>,
  {token, more = 0}: {token: number; more?: number},
  samples = steady(1),
  looked: readonly number[] = [25, 64, 100],
): TimedRecord {
  const marks = looked.map((tokens): DecodeMark => {
    const total = (tokens - 1) * token + (more * tokens * (tokens - 1)) / 2
    const last = token + more * tokens
    const {low, high} = medianOfRuns(
      samples.map(x => x * total),
      0,
    )
    return {
      tokens,
      ...{total_ns: total, total_low_ns: low, total_high_ns: high},
      ...{token_ns: last, token_low_ns: last, token_high_ns: last},
      tokens_per_second: ((tokens - 1) / total) * 1e9,
      state_bytes: more > 0 ? 240 * tokens : 12288,
      total_samples_ns: samples.map(x => x * total),
      token_samples_ns: samples.map(x => x * last),
    }
  })
  const seq_len = looked.at(-1)!
  const lengths = {mode: 'decode' as const, seq_len, lengths: [looked[0]!, seq_len], causal: true}
  const {total_ns, total_samples_ns} = marks.at(-1)!
  const feature_dim = changes.projection === null ? 0 : 64
  const extra = {marks, first_token_ns: 5e4, samples_ns: total_samples_ns, feature_dim}
  return timed({...lengths, ...changes}, total_ns, extra)
}

export const BENCH_PLAN: BenchPlan = {
  experiment: 'bench',
  methods: [{method: 'favor-pos', preset: 'exact', options: {}}],
  projections: ['orth'],
  orth_sign: 'haar',
  redraw: 'fixed',
  num_features: [64],
  seq_lens: [128],
  batch: 1,
  heads: 2,
  head_dim: 17,
  value_dim: 13,
  causal: false,
  timing: BENCH_CELL.timing,
  order: 'listed',
  seed: 7,
  backend: 'wasm',
  threads: null,
}

export const BENCH_MANIFEST: RunManifest = {
  schema: 'rfa.run/2',
  created_at: '2026-01-02T03:04:05.000Z',
  argv: ['rfa', 'bench', '--quick'],
  machine: MACHINE,
  plan: BENCH_PLAN,
}
