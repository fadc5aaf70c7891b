/** Records with round numbers, so that tables can be checked to the letter. */
import type {
  BenchCell,
  BenchRecord,
  BenchResult,
  ErrorSweepCell,
  ErrorSweepRecord,
  ErrorSweepResult,
  MeansUnknown,
  MetricSummary,
  RunManifest,
  VarianceRecord,
} from '../../../src/results/schemas/index.js'

export const WIDE = {width: 120, colour: false}

export const metric = (median: number | null, low = median, high = median): MetricSummary => ({
  mean: median,
  median,
  low,
  high,
  min: low,
  max: high,
})

/** Of too few replicates for an interval. */
export const ranged = (median: number, min: number, max: number): MetricSummary => ({
  ...metric(median, null, null),
  min,
  max,
})

export const STATISTICS = {
  query_norm2: 4.8,
  key_norm2: 4.2,
  sum_norm2: 9.25,
  difference_norm2: 8.75,
  entropy_nats: 5.64,
  max_entropy_nats: 6.24,
}

const SWEEP_CELL: ErrorSweepCell = {
  method: 'favor-pos',
  preset: 'exact',
  options: {},
  input: {
    kind: 'file',
    paths: ['fixtures/tiny.safetensors'],
    names: {query: 'q', key: 'k', value: 'v'},
  },
  projection: 'orth',
  orth_sign: 'haar',
  num_features: 64,
  seq_len: null,
  scale: 1,
  target: 'raw',
  replicates: 10,
  causal: true,
  row_metrics: false,
  seed: 0,
  backend: 'auto',
}

const SWEEP_RESULT: ErrorSweepResult = {
  batch: 1,
  heads: 2,
  query_len: 31,
  key_len: 31,
  head_dim: 17,
  value_dim: 13,
  feature_dim: 64,
  backend: 'native',
  instruction_set: 'avx2',
  threads: 2,
  operations: {},
  target_label: 'softmax',
  truth: 'float64',
  mse: metric(0.0012),
  rel_l2: metric(0.25, 0.2, 0.3),
  rel_l1: metric(0.2),
  max_abs: metric(0.5),
  cosine: metric(0.97),
  row_sum_deviation: metric(0),
  negative_denominators_pct: metric(0),
  guarded_pct: metric(0),
  not_finite_pct: metric(0),
  row_kl_nats: null,
  row_total_variation: null,
  row_kl_infinite_pct: null,
  bias_squared: 0.0004,
  variance: 0.0008,
  mse_standard_error: 0.0001,
  bias_squared_standard_error: 0.000025,
  variance_standard_error: 0.00011,
  means_unknown: null,
  mean_value_mse: 0.0024,
  mse_over_mean_value: 0.5,
  predicted_relative_variance: 162,
  needed_num_features: 25_000,
  needed_num_features_log10: Math.log10(25_000),
  least_needed_num_features: 400,
  statistics: STATISTICS,
  per_head: [
    {
      head: 0,
      rel_l2: 0.2,
      mse: 0.001,
      mse_over_mean_value: 0.4,
      needed_num_features: 400,
      needed_num_features_log10: Math.log10(400),
      statistics: STATISTICS,
    },
    {
      head: 1,
      rel_l2: 0.3,
      mse: 0.0014,
      mse_over_mean_value: 1.6,
      needed_num_features: 25_000,
      needed_num_features_log10: Math.log10(25_000),
      statistics: {...STATISTICS, sum_norm2: 10.1},
    },
  ],
}

export type CompletedSweep = Extract<ErrorSweepRecord, {status: 'completed'}>

export function sweep(
  cell: Partial<ErrorSweepCell> = {},
  result: Partial<ErrorSweepResult> = {},
): CompletedSweep {
  return {
    schema: 'rfa.error-sweep/3',
    key: JSON.stringify(cell),
    cell: {...SWEEP_CELL, ...cell},
    status: 'completed',
    result: {...SWEEP_RESULT, ...result},
  }
}

/** A method without random vectors: no prediction, and bias alone. */
export const deterministic = (method: string, result: Partial<ErrorSweepResult> = {}) => {
  const mse = result.mse ?? metric(0.0012)
  return sweep(
    {method, projection: null, num_features: null, replicates: 1},
    {
      feature_dim: 0,
      rel_l2: ranged(0.25, 0.25, 0.25),
      mse,
      bias_squared: mse.mean,
      variance: 0,
      mse_standard_error: 0,
      bias_squared_standard_error: 0,
      variance_standard_error: 0,
      predicted_relative_variance: null,
      needed_num_features: null,
      needed_num_features_log10: null,
      least_needed_num_features: null,
      per_head: SWEEP_RESULT.per_head.map(head => ({
        ...head,
        needed_num_features: null,
        needed_num_features_log10: null,
      })),
      ...result,
    },
  )
}

/** What a cell says of means that have no standard errors. */
export const withoutMeans = (means_unknown: MeansUnknown) => ({
  mse_standard_error: null,
  bias_squared_standard_error: null,
  variance_standard_error: null,
  means_unknown,
})

export function skippedSweep(reason: string, cell: Partial<ErrorSweepCell> = {}): ErrorSweepRecord {
  const {schema, key} = sweep(cell)
  return {schema, key, cell: {...SWEEP_CELL, ...cell}, status: 'skipped', reason}
}

export function failedSweep(
  code: string,
  message: string,
  cell: Partial<ErrorSweepCell> = {},
): ErrorSweepRecord {
  const {schema, key} = sweep(cell)
  return {schema, key, cell: {...SWEEP_CELL, ...cell}, status: 'failed', error: {code, message}}
}

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

export type TimedRecord = Extract<BenchRecord, {status: 'completed'}>

export function timed(
  cell: Partial<BenchCell>,
  median: number,
  result: Partial<BenchResult> = {},
): TimedRecord {
  return {
    schema: 'rfa.bench/1',
    key: JSON.stringify(cell),
    cell: {...BENCH_CELL, ...cell},
    status: 'completed',
    result: {
      feature_dim: 64,
      backend: 'wasm',
      instruction_set: 'simd128',
      threads: 1,
      operations: {softmaxAttention: 'composite'},
      gate: {max_abs_error: 1e-7, bound: 1e-5, rows: 31},
      runs: 11,
      median_ns: median,
      q1_ns: median * 0.9,
      q3_ns: median * 1.2,
      min_ns: median * 0.8,
      mean_ns: median,
      outliers: 0,
      projection_ns: 2e5,
      work_flops: 3e6,
      fma_peak_gflops: null,
      live_bytes: 2 ** 20,
      peak_rss_over_baseline_bytes: 3 * 2 ** 20,
      samples_ns: [median],
      ...result,
    },
  }
}

/** An exact form: no projection, no features. */
export const exactForm = (method: string, seq_len: number, median: number) =>
  timed({method, projection: null, num_features: null, seq_len}, median, {feature_dim: 0})

const MEASURED = {withheld: null, variance_relative_standard_error: 0.1, needed_replicates: null}

export function variance(angle_deg: number, ratio: number): VarianceRecord {
  return {
    schema: 'rfa.variance/2',
    key: String(angle_deg),
    cell: {
      method: 'favor-pos',
      preset: 'exact',
      options: {},
      projections: ['iid', 'orth'],
      orth_sign: 'haar',
      num_features: 32,
      head_dim: 17,
      norm: 0.5,
      angle_deg,
      replicates: 500,
      seed: 0,
      backend: 'auto',
    },
    status: 'completed',
    result: {
      backend: 'wasm',
      instruction_set: null,
      threads: null,
      feature_dim: 32,
      kernel: 'exp(x.y)',
      expectation: 1.25,
      closed_form_variance: 0.08,
      closed_form_kurtosis: 3,
      calibration_pairs: null,
      without_effect: {},
      per_projection: [
        {
          ...MEASURED,
          projection: 'iid',
          mean: 1.26,
          bias_z: 0.5,
          variance: 0.08,
          variance_low: 0.07,
          variance_high: 0.09,
          relative_mse: 0.05,
          ratio_to_iid: null,
          ratio_low: null,
          ratio_high: null,
        },
        {
          ...MEASURED,
          projection: 'orth',
          mean: 1.25,
          bias_z: -0.25,
          variance: 0.08 * ratio,
          variance_low: 0.06 * ratio,
          variance_high: 0.1 * ratio,
          relative_mse: 0.03,
          ratio_to_iid: ratio,
          ratio_low: ratio * 0.75,
          ratio_high: ratio * 1.25,
        },
      ],
    },
  }
}

export const MACHINE = {
  cpu: 'Test CPU',
  logical_cores: 4,
  available_parallelism: 2,
  memory_bytes: 8 * 2 ** 30,
  platform: 'linux',
  arch: 'x64',
  node: 'v20.19.0',
  rfa: '0.1.0',
  tfjs: '4.22.0',
  commit: 'abc1234',
}

export const BENCH_MANIFEST: RunManifest = {
  schema: 'rfa.run/1',
  created_at: '2026-01-02T03:04:05.000Z',
  command: 'rfa bench --quick',
  machine: MACHINE,
  plan: {
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
  },
}
