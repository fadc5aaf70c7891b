/** What reports ask of every record of a sweep: a million of them have a place in memory for these, not for all they say. */

const SUMMARY = ['mean', 'median', 'low', 'high', 'min', 'max']

/** Metrics of which tables show the median. */
const MEDIANS = [
  'cosine',
  'row_sum_deviation',
  'negative_denominators_pct',
  'guarded_pct',
  'not_finite_pct',
  'row_kl_nats',
  'row_total_variation',
  'row_top1_agreement',
  'row_top8_agreement',
]

/** Fields of results by their paths. */
export const KEPT = [
  ...['batch', 'heads', 'key_heads', 'query_len', 'key_len', 'head_dim', 'value_dim'],
  ...['logit_scale', 'feature_dim', 'backend', 'instruction_set', 'threads', 'processes'],
  ...['ran_causal', 'target_label', 'means_unknown', 'replicates_run', 'stopped_by'],
  ...SUMMARY.map(name => `mse.${name}`),
  ...SUMMARY.map(name => `rel_l2.${name}`),
  ...MEDIANS.map(name => `${name}.median`),
  ...['row_kl_infinite_pct', 'bias_squared', 'variance', 'mse_standard_error'],
  ...['bias_squared_standard_error', 'variance_standard_error', 'mean_value_mse'],
  ...['mse_over_mean_value', 'predicted_rel_l2', 'num_features_for_5_percent'],
  'prediction_unknown',
  'statistics.query_norm2',
]
