import {z} from 'zod'
import {inputSpec, inputStatistics} from '../../inputs/spec.js'
import {
  backendChoice,
  type CellRecord,
  type Completed,
  computedBy,
  nullableNumber,
  operationForms,
} from '../../results/record.js'
import {listTable, recordTable} from '../../results/tables.js'
import {LEAST_FOR_INTERVAL, type MetricSummary} from '../../stats/index.js'
import {drawAxes, drawPoint, methodSpec} from '../axes.js'
import {defineExperiment} from '../experiment.js'

/** Everything that determines an error sweep. */
export const errorSweepPlan = z.object({
  experiment: z.literal('error-sweep'),
  input: inputSpec,
  methods: z.array(methodSpec).min(1),
  ...drawAxes,
  /** Query lengths; `null`: the length of the file. */
  seq_lens: z.array(z.number().int().positive()).min(1).nullable(),
  /** Factors on queries and keys. */
  scales: z.array(z.number().positive()).min(1),
  /** `raw`: softmax of the given q and k; `matched`: what the estimator converges to, where that differs. */
  targets: z.array(z.enum(['raw', 'matched'])).min(1),
  replicates: z.number().int().positive(),
  causal: z.boolean(),
  /** Row metrics (KL divergence, total variation) need the implied L x S matrix. */
  row_metrics: z.boolean(),
  seed: z.number().int().nonnegative(),
  backend: backendChoice,
})
export type ErrorSweepPlan = z.infer<typeof errorSweepPlan>

/** One grid point; all its replicates. */
export const errorSweepCell = z.object({
  ...methodSpec.shape,
  input: inputSpec,
  ...drawPoint,
  seq_len: z.number().int().positive().nullable(),
  scale: z.number(),
  target: z.enum(['raw', 'matched']),
  replicates: z.number().int().positive(),
  causal: z.boolean(),
  row_metrics: z.boolean(),
  seed: z.number().int().nonnegative(),
  backend: backendChoice,
})
export type ErrorSweepCell = z.infer<typeof errorSweepCell>

/** A metric over replicates. */
const metricSummary: z.ZodType<MetricSummary> = z.object({
  mean: nullableNumber,
  median: nullableNumber,
  low: nullableNumber,
  high: nullableNumber,
  min: nullableNumber,
  max: nullableNumber,
})

/** Fewest replicates whose means have standard errors; as many as an interval of the median takes. */
export const LEAST_FOR_ERRORS = LEAST_FOR_INTERVAL

/**
 * Why means over replicates have no standard error:
 * - `not_finite`: an estimate broke
 * - `sign_changes`: denominators came out on both sides of zero, and one near it can make any error
 * - `few_replicates`: below six
 * - `one_draw`: a single replicate makes up more than half of the summed squared error
 * - `not_recorded`: written by a version that kept no standard errors
 */
export const MEANS_UNKNOWN = [
  'not_finite',
  'sign_changes',
  'few_replicates',
  'one_draw',
  'not_recorded',
] as const
export type MeansUnknown = (typeof MEANS_UNKNOWN)[number]

export const errorSweepResult = z.object({
  batch: z.number().int(),
  heads: z.number().int(),
  query_len: z.number().int(),
  key_len: z.number().int(),
  head_dim: z.number().int(),
  value_dim: z.number().int(),
  feature_dim: z.number().int(),
  ...computedBy,
  operations: operationForms,
  /** What the estimate is compared with, and how that was computed. */
  target_label: z.string(),
  truth: z.enum(['float64', 'float32-tiled']),
  mse: metricSummary,
  rel_l2: metricSummary,
  rel_l1: metricSummary,
  max_abs: metricSummary,
  cosine: metricSummary,
  /** Mean over rows of |sum of weights - 1|. */
  row_sum_deviation: metricSummary,
  negative_denominators_pct: metricSummary,
  guarded_pct: metricSummary,
  not_finite_pct: metricSummary,
  row_kl_nats: metricSummary.nullable(),
  row_total_variation: metricSummary.nullable(),
  /** Share of rows whose KL divergence is infinite (an estimated weight <= 0 where the exact one is not). */
  row_kl_infinite_pct: nullableNumber,
  /** Split of the mean squared error over replicates; `null` with one replicate of a random method. */
  bias_squared: nullableNumber,
  variance: nullableNumber,
  /** Standard errors of `mse.mean` and its split: 0 where nothing is drawn, `null` where not known. */
  mse_standard_error: nullableNumber,
  bias_squared_standard_error: nullableNumber,
  variance_standard_error: nullableNumber,
  /** Why they are not known, and means over replicates no numbers to compare; `null` where they are. */
  means_unknown: z.enum(MEANS_UNKNOWN).nullable(),
  /** The yardstick: MSE of output = mean of V over the keys in view, against the same target. */
  mean_value_mse: z.number(),
  /**
   * Median MSE over the yardstick's: above 1 means worse than averaging V; `null` where averaging V is
   * exact up to float32 rounding.
   */
  mse_over_mean_value: nullableNumber,
  /**
   * Predicted relative variance of a kernel entry at the mean squared norms of the head where it is
   * largest; `null` without theory and beyond doubles.
   */
  predicted_relative_variance: nullableNumber,
  /** Smallest M for which that prediction falls to 1 in every head; `null` without theory and beyond doubles. */
  needed_num_features: nullableNumber,
  /** Its decimal logarithm, also beyond doubles; `null` without theory. */
  needed_num_features_log10: nullableNumber,
  /** Smallest M for which it falls to 1 in some head. */
  least_needed_num_features: nullableNumber,
  statistics: inputStatistics,
  per_head: z.array(
    z.object({
      head: z.number().int(),
      rel_l2: nullableNumber,
      mse: nullableNumber,
      mse_over_mean_value: nullableNumber,
      needed_num_features: nullableNumber,
      needed_num_features_log10: nullableNumber,
      statistics: inputStatistics,
    }),
  ),
})
export type ErrorSweepResult = z.infer<typeof errorSweepResult>

export type ErrorSweepRecord = CellRecord<ErrorSweepCell, ErrorSweepResult>
/** A cell with numbers. */
export type CompletedSweep = Completed<ErrorSweepCell, ErrorSweepResult>

const schemas = {cell: errorSweepCell, result: errorSweepResult}
/** Cells of files leave the length open; tables show the one that was used. */
const tabled = {...schemas, used: {seq_len: 'query_len'}}

/** Error of every estimator against exact attention, over many draws. */
export default defineExperiment({
  name: 'error-sweep',
  title: 'an error sweep',
  version: 3,
  plan: errorSweepPlan,
  ...schemas,
  isolation: 'shared',
  tables: [recordTable(tabled), listTable(tabled, 'per_head')],
  cells: async plan => (await import('./grid.js')).errorSweepCells(plan),
  jobs: async plan => (await import('./grid.js')).errorSweepJobs(plan),
  check: async plan => (await import('./grid.js')).checkErrorSweep(plan),
  load: () => Promise.all([import('./grid.js'), import('./cell.js')]),
  run: async (cell, context) => (await import('./cell.js')).runErrorSweepCell(cell, context),
  report: async records => (await import('./report.js')).errorSweepReport(records),
  earlier: async () => (await import('./earlier.js')).asPresentRecord,
})
