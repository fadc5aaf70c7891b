/** Plan, records and a run of benchmarks, with round numbers. */

import type {
  BenchCell,
  BenchPlan,
  BenchResult,
  TimedRecord,
} from '../../../src/experiments/bench/schema.js'
import benchExperiment from '../../../src/experiments/bench/schema.js'
import {quoted} from '../../../src/experiments/bench/timing.js'
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
      ...quoted(samples_ns, waited_ns),
      projection_ns: 2e5,
      work_flops: 3e6,
      fma_peak_gflops: null,
      live_bytes: 2 ** 20,
      peak_rss_over_baseline_bytes: 3 * 2 ** 20,
      ...result,
    },
  }
}

/** An exact form: no projection, no features. */
export const exactForm = (method: string, seq_len: number, median: number) =>
  timed({method, projection: null, num_features: null, seq_len}, median, {feature_dim: 0})

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
