/** Records of error sweeps, with round numbers so that tables can be checked to the letter. */

import errorSweepExperiment from '../../../src/experiments/error-sweep/index.js'
import {keptMetrics} from '../../../src/experiments/error-sweep/replicate-metrics.js'
import type {
  ErrorSweepCell,
  ErrorSweepRecord,
  ErrorSweepResult,
  MeansUnknown,
} from '../../../src/experiments/error-sweep/schema.js'
import {cellKey} from '../../../src/results/keys.js'
import type {Completed} from '../../../src/results/record.js'
import {type MetricSummary, summarise} from '../../../src/stats/index.js'
import {madeBy} from './made-by.js'
import {failed, skipped} from './outcomes.js'

/** A cell with numbers, none of which is left out. */
export type WholeSweep = Completed<ErrorSweepCell, ErrorSweepResult>

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
  ...{query_norm2: 4.8, key_norm2: 4.2, sum_norm2: 9.25, difference_norm2: 8.75},
  ...{entropy_nats: 5.64, max_entropy_nats: 6.24},
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
  ...{projection: 'orth', orth_sign: 'haar', num_features: 64, seq_len: null, scale: 1},
  ...{target: 'raw', replicates: 10, causal: true, row_metrics: false, seed: 0, backend: 'auto'},
}

/** Errors that are nearer to what a model loses, not measured. */
export const NO_MODEL_ERRORS = {
  token_mean_rel_l2: null,
  projected_rel_l2: null,
  residual_error: null,
}

/** Metrics of replicates that no test looks at. */
export const NO_METRICS = {
  ...{mse: [], rel_l1: [], max_abs: [], cosine: [], row_sum_deviation: []},
  ...{negative_denominators_pct: [], row_kl_nats: null, row_total_variation: null},
  ...{row_top1_agreement: null, row_top8_agreement: null, head_mse: null, sequence_rel_l2: null},
  ...NO_MODEL_ERRORS,
}

const SWEEP_RESULT: ErrorSweepResult = {
  ...{batch: 1, heads: 2, query_len: 31, key_len: 31, head_dim: 17, value_dim: 13, key_heads: null},
  ...{logit_scale: 17 ** -0.5, hidden_keys: 0, judged_queries: null, ran_causal: null},
  feature_dim: 64,
  ...madeBy({backend: 'native', instruction_set: 'avx2', threads: 2}),
  ...{operations: {}, target_label: 'softmax', limit_distance: null, truth: 'float64'},
  ...{mse: metric(0.0012), rel_l2: metric(0.25, 0.2, 0.3), rel_l1: metric(0.2)},
  ...{max_abs: metric(0.5), cosine: metric(0.97), row_sum_deviation: metric(0)},
  ...{negative_denominators_pct: metric(0), guarded_pct: metric(0), not_finite_pct: metric(0)},
  ...{rel_l2_over_texts: null, query_error_p50: null, query_error_p90: null, query_error_p99: null},
  ...{query_errors_by_position: null, row_kl_nats: null, row_total_variation: null},
  ...{row_kl_infinite_pct: null, row_sample: null, rows_unknown: null, row_top1_agreement: null},
  row_top8_agreement: null,
  ...NO_MODEL_ERRORS,
  ...{token_mean_split: null, projected_split: null, residual_split: null, bias_squared: 0.0004},
  ...{variance: 0.0008, mse_standard_error: 0.0001, bias_squared_standard_error: 0.000025},
  ...{variance_standard_error: 0.00011, means_unknown: null, mean_value_mse: 0.0024},
  ...{mse_over_mean_value: 0.5, predicted_rel_l2: null, num_features_for_5_percent: null},
  ...{prediction_unknown: null, num_features_for_5_percent_low: null},
  ...{num_features_for_5_percent_high: null, last_num_features: null, last_rel_l2: null},
  ...{last_rel_l2_low: null, last_rel_l2_high: null, predicted_bias_squared: null},
  ...{predicted_relative_variance: 162, needed_num_features: 25_000},
  needed_num_features_log10: Math.log10(25_000),
  least_needed_num_features: 400,
  statistics: STATISTICS,
  per_head: [
    {
      ...{head: 0, rel_l2: 0.2, token_mean_rel_l2: null, mse: 0.001, mse_over_mean_value: 0.4},
      ...{predicted_rel_l2: null, num_features_for_5_percent: null, prediction_unknown: null},
      needed_num_features: 400,
      needed_num_features_log10: Math.log10(400),
      statistics: STATISTICS,
    },
    {
      ...{head: 1, rel_l2: 0.3, token_mean_rel_l2: null, mse: 0.0014, mse_over_mean_value: 1.6},
      ...{predicted_rel_l2: null, num_features_for_5_percent: null, prediction_unknown: null},
      needed_num_features: 25_000,
      needed_num_features_log10: Math.log10(25_000),
      statistics: {...STATISTICS, sum_norm2: 10.1},
    },
  ],
  replicates_run: null,
  stopped_by: null,
  replicate_metrics: null,
}

/** A completed cell that differs from the usual one in `changes`. */
export function sweep(
  changes: Partial<ErrorSweepCell> = {},
  result: Partial<ErrorSweepResult> = {},
): WholeSweep {
  const cell = {...SWEEP_CELL, ...changes}
  return {
    schema: errorSweepExperiment.schema,
    key: cellKey(errorSweepExperiment.schema, cell),
    cell,
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
      ...{variance: 0, mse_standard_error: 0, bias_squared_standard_error: 0},
      ...{variance_standard_error: 0, predicted_relative_variance: null, needed_num_features: null},
      ...{needed_num_features_log10: null, least_needed_num_features: null},
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
  return skipped(sweep(cell), reason)
}

export function failedSweep(
  code: string,
  message: string,
  cell: Partial<ErrorSweepCell> = {},
): ErrorSweepRecord {
  return failed(sweep(cell), {code, message})
}

/** Metrics of a replicate that no test looks at. */
const ONES = {
  ...{mse: 1, rel_l1: 1, max_abs: 1, cosine: 1},
  ...{row_sum_deviation: 1, negative_denominators_pct: 1},
}

/** A cell with these rel L2 of its replicates; what is not finite is `null`. */
export function replicated(
  errors: readonly (number | null)[],
  changes: Partial<ErrorSweepCell> = {},
  result: Partial<ErrorSweepResult> = {},
): WholeSweep {
  const values = errors.map(error => error ?? Number.NaN)
  const over = values.map(rel_l2 => ({...ONES, rel_l2}))
  return sweep(
    {replicates: errors.length, ...changes},
    {
      rel_l2: summarise(values),
      replicate_metrics: keptMetrics(over, null, [values.map(() => 1)]),
      ...result,
    },
  )
}

/** The same of a method that draws nothing. */
export const replicatedOnce = (
  method: string,
  error: number,
  result: Partial<ErrorSweepResult> = {},
) => {
  const {rel_l2, replicate_metrics} = replicated([error]).result
  return deterministic(method, {rel_l2, replicate_metrics, ...result})
}

/** Factors that scatter by a fifth about 1, symmetrically in their logarithms, and in another order for each start. */
export const scattered = (count: number, start: number) =>
  Array.from({length: count}, (_, at) => 1.2 ** Math.sin(1 + 2.4 * at * (1 + start / 7) + start))
