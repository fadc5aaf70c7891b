/** One plan, cell and record of each experiment, with a different number in every place. */
import {cellKey} from '../../../../src/results/keys.js'
import {
  type AnyRecord,
  BENCH_SCHEMA,
  type BenchCell,
  type BenchRecord,
  ERROR_SWEEP_SCHEMA,
  type ErrorSweepCell,
  type ErrorSweepRecord,
  VARIANCE_SCHEMA,
  type VarianceCell,
  type VarianceRecord,
} from '../../../../src/results/schemas/index.js'
import type {AnyPlan} from '../../../../src/results/schemas/manifest.js'

const favor = {method: 'favor-pos', preset: 'exact', options: {tau: 0.5}} as const

export const variancePlan: AnyPlan = {
  experiment: 'variance',
  methods: [favor],
  projections: ['iid', 'orth'],
  orth_sign: 'haar',
  num_features: [13, 29],
  head_dims: [7],
  norms: [1],
  angles_deg: [60],
  replicates: 31,
  seed: 3,
  backend: 'auto',
}

export const benchPlan: AnyPlan = {
  experiment: 'bench',
  methods: [favor],
  projections: ['iid'],
  orth_sign: 'haar',
  redraw: 'fixed',
  num_features: [13],
  seq_lens: [101],
  batch: 1,
  heads: 3,
  head_dim: 7,
  value_dim: 5,
  causal: false,
  timing: {warmup_runs: 1, min_runs: 2, max_runs: 3, min_time_ns: 0},
  order: 'listed',
  seed: 3,
  backend: 'auto',
  threads: null,
}

export function varianceCell(changes: Partial<VarianceCell> = {}): VarianceCell {
  return {
    ...favor,
    projections: ['iid', 'orth'],
    orth_sign: 'haar',
    num_features: 13,
    head_dim: 7,
    norm: 1,
    angle_deg: 60,
    replicates: 31,
    seed: 3,
    backend: 'auto',
    ...changes,
  }
}

export function varianceRecord(changes: Partial<VarianceCell> = {}): VarianceRecord {
  const cell = varianceCell(changes)
  const measured = {
    withheld: null,
    variance_relative_standard_error: 0.09,
    needed_replicates: null,
    ...{mean: 1.5, bias_z: 0.25, variance: 2, variance_low: 1, variance_high: 3},
  }
  const none = {ratio_to_iid: null, ratio_low: null, ratio_high: null}
  const ratio = {ratio_to_iid: 0.75, ratio_low: 0.5, ratio_high: 0.875}
  return {
    schema: VARIANCE_SCHEMA,
    key: cellKey(VARIANCE_SCHEMA, cell),
    cell,
    status: 'completed',
    result: {
      backend: 'cpu',
      instruction_set: null,
      threads: 1,
      feature_dim: 13,
      kernel: 'exp(x.y)',
      expectation: 1.625,
      closed_form_variance: 2.125,
      closed_form_kurtosis: 1.5,
      calibration_pairs: null,
      without_effect: {},
      per_projection: [
        {projection: 'iid', ...measured, relative_mse: 4, ...none},
        {projection: 'orth', ...measured, relative_mse: 5, ...ratio},
      ],
    },
  }
}

const benchCell: BenchCell = {
  ...favor,
  projection: 'iid',
  orth_sign: 'haar',
  redraw: 'fixed',
  num_features: 13,
  seq_len: 101,
  batch: 1,
  heads: 3,
  head_dim: 7,
  value_dim: 5,
  causal: true,
  timing: {warmup_runs: 1, min_runs: 2, max_runs: 3, min_time_ns: 1e9},
  seed: 11,
  backend: 'auto',
  threads: null,
}

export const benchRecord: BenchRecord = {
  schema: BENCH_SCHEMA,
  key: cellKey(BENCH_SCHEMA, benchCell),
  cell: benchCell,
  status: 'completed',
  result: {
    feature_dim: 13,
    backend: 'wasm',
    instruction_set: null,
    threads: 2,
    operations: {softmaxAttention: 'fused', linearAttention: 'composite'},
    gate: {max_abs_error: 1e-7, bound: 2e-6, rows: 17},
    runs: 2,
    median_ns: 1234.5,
    q1_ns: 1200,
    q3_ns: 1300,
    min_ns: 1100,
    mean_ns: 1250,
    outliers: 0,
    projection_ns: 99,
    work_flops: 123456,
    fma_peak_gflops: 98.7,
    live_bytes: 4096,
    peak_rss_over_baseline_bytes: null,
    samples_ns: [1200, 1269],
  },
}

const sweepCell: ErrorSweepCell = {
  ...favor,
  input: {
    kind: 'file',
    paths: ['a, "b".npy', 'k.npy', 'v.npy'],
    names: {query: 'q', key: 'k', value: 'v'},
  },
  projection: 'orth',
  orth_sign: 'haar',
  num_features: 13,
  seq_len: null,
  scale: 0.5,
  target: 'raw',
  replicates: 5,
  causal: false,
  row_metrics: false,
  seed: 11,
  backend: 'auto',
}

const summaryOf = (base: number) => ({
  mean: base,
  median: base + 1,
  low: base + 2,
  high: base + 3,
  min: base + 4,
  max: base + 5,
})
const statistics = {
  query_norm2: 1.25,
  key_norm2: 1.5,
  sum_norm2: 2.75,
  difference_norm2: 2.5,
  entropy_nats: 3.5,
  max_entropy_nats: 4.5,
}
const headOf = (head: number) => ({
  head,
  rel_l2: 0.5 + head,
  mse: null,
  mse_over_mean_value: 0.25,
  needed_num_features: 1024,
  needed_num_features_log10: 3.0103,
  statistics,
})

export const errorSweepRecord: ErrorSweepRecord = {
  schema: ERROR_SWEEP_SCHEMA,
  key: cellKey(ERROR_SWEEP_SCHEMA, sweepCell),
  cell: sweepCell,
  status: 'completed',
  result: {
    batch: 1,
    heads: 2,
    query_len: 101,
    key_len: 103,
    head_dim: 7,
    value_dim: 5,
    feature_dim: 13,
    backend: 'native',
    instruction_set: 'avx2',
    threads: 2,
    operations: {softmaxAttention: 'composite'},
    target_label: 'softmax',
    truth: 'float64',
    mse: summaryOf(10),
    rel_l2: summaryOf(20),
    rel_l1: summaryOf(30),
    max_abs: summaryOf(40),
    cosine: summaryOf(50),
    row_sum_deviation: summaryOf(60),
    negative_denominators_pct: summaryOf(70),
    guarded_pct: summaryOf(80),
    not_finite_pct: summaryOf(90),
    row_kl_nats: null,
    row_total_variation: summaryOf(100),
    row_kl_infinite_pct: null,
    bias_squared: 0.125,
    variance: 0.0625,
    mse_standard_error: 0.03125,
    bias_squared_standard_error: 0.015625,
    variance_standard_error: 0.0078125,
    means_unknown: null,
    mean_value_mse: 2.5,
    mse_over_mean_value: 0.3,
    predicted_relative_variance: null,
    needed_num_features: 1024,
    needed_num_features_log10: 3.0103,
    least_needed_num_features: 512,
    statistics,
    per_head: [headOf(0), headOf(1)],
  },
}

/** The same cell as `record`'s, failed. */
export function failed({schema, key, cell}: AnyRecord): AnyRecord {
  const error = {code: 'CELL_CRASHED', message: 'expected an answer, got "none",\nbut a newline'}
  return {schema, key, cell, status: 'failed', error} as AnyRecord
}

/** The same cell as `record`'s, skipped. */
export function skipped({schema, key, cell}: AnyRecord): AnyRecord {
  return {schema, key, cell, status: 'skipped', reason: 'supports no mask'} as AnyRecord
}
