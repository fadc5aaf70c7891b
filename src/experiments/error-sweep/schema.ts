import {z} from 'zod'
import {inputSpec, inputStatistics} from '../../inputs/spec.js'
import {
  backendChoice,
  type CellRecord,
  type Completed,
  computedBy,
  nullableNumber,
  operationForms,
  seed,
} from '../../results/record.js'
import {LEAST_FOR_INTERVAL, type MetricSummary} from '../../stats/index.js'
import {
  causalAlignField,
  causalField,
  drawAxes,
  drawPoint,
  featureDim,
  layerAxis,
  layerFiles,
  layerPoint,
  logitScale,
  methodAxes,
  methodSpec,
  sizeFields,
} from '../axes.js'
import type {HeldResult} from '../experiment.js'
import {untilCi} from '../until-ci.js'
import {UNKNOWN} from './curve.js'
import {
  type Meaning,
  MODEL_METRICS,
  OUTPUT_METRICS,
  perMetric,
  QUERY_METRICS,
  ROW_METRICS,
  replicateMetrics,
} from './replicate-metrics.js'

/** Of the format of records. */
export const VERSION = 3

const TARGETS =
  '`raw`: exact softmax attention of the given q and k; `matched`: what the method converges to, where that differs'

const input = inputSpec.describe('Where queries, keys and values come from.')
const replicates = z.int().positive().describe('Independent draws; 1 where nothing is drawn.')
const row_metrics = z
  .boolean()
  .describe(
    'Row metrics (KL divergence, total variation, agreement of the largest weights) are computed.',
  )

const row_queries = z
  .int()
  .positive()
  .optional()
  .describe(
    'Row metrics are computed from at least this number of queries, drawn by the seed, the same number of each head; without effect with row_metrics. Absent: of none.',
  )
  .meta({flag: 'row-queries'})

const predictions = z
  .literal(true)
  .optional()
  .describe(
    'The error that theory predicts is computed, and the M that an error of 5 % takes. Absent: neither is.',
  )
  .meta({flag: 'predictions'})

/** Metrics with intervals that say when there are replicates enough; they are ratios of positive numbers. */
export const PRECISION_METRICS = [
  'rel_l2',
  'rel_l1',
  'mse',
  'max_abs',
  'token_mean_rel_l2',
  'projected_rel_l2',
  'residual_error',
] as const
export type PrecisionMetric = (typeof PRECISION_METRICS)[number]

const until_ci = z
  .object({
    metric: z
      .enum(PRECISION_METRICS)
      .describe('Metric that has this interval.')
      .meta({flag: 'ci-metric'}),
    ...untilCi.shape,
  })
  .optional()
  .describe(
    'Replicates are added until the 95 % interval of the median of a metric is narrow enough; `replicates` is then the minimum. Absent: there are `replicates`.',
  )

export const errorSweepPlan = z.object({
  experiment: z.literal('error-sweep').describe('Name of the experiment.'),
  input,
  layers: layerAxis,
  layer_files: layerFiles,
  head_dims: z
    .array(z.int().positive())
    .min(1)
    .optional()
    .describe(
      'Head dimensions of a generated input, for queries, keys and values; absent: that of the input.',
    )
    .meta({flag: 'head-dim'}),
  ...methodAxes,
  ...drawAxes,
  seq_lens: z
    .array(z.int().positive())
    .min(1)
    .nullable()
    .describe('L, tokens of queries, of each length in turn; `null`: the length of the file.')
    .meta({flag: 'seq-len'}),
  scales: z.array(z.number().positive()).min(1).describe('Factors on queries and keys.'),
  logit_scale: logitScale,
  targets: z
    .array(z.enum(['raw', 'matched']))
    .min(1)
    .describe(`What estimates are compared with, one cell for each: ${TARGETS}.`),
  replicates,
  until_ci,
  causal: causalField,
  causal_align: causalAlignField,
  row_metrics,
  row_queries,
  predictions,
  seed,
  backend: backendChoice,
})
export type ErrorSweepPlan = z.infer<typeof errorSweepPlan>

/** One grid point; all its replicates. */
export const errorSweepCell = z.object({
  ...methodSpec.shape,
  input,
  layer: layerPoint,
  ...drawPoint,
  seq_len: z
    .int()
    .positive()
    .nullable()
    .describe('L, tokens of queries; `null`: the length of the file.'),
  scale: z.number().describe('Factor on queries and keys.'),
  logit_scale: logitScale,
  target: z.enum(['raw', 'matched']).describe(`What the estimate is compared with. ${TARGETS}.`),
  replicates,
  until_ci,
  causal: causalField,
  causal_align: causalAlignField,
  row_metrics,
  row_queries,
  predictions,
  seed,
  backend: backendChoice,
})
export type ErrorSweepCell = z.infer<typeof errorSweepCell>

/** A metric over replicates. */
function metric(meaning: Meaning): z.ZodType<MetricSummary> {
  const over = (how: string) =>
    nullableNumber.meta({...meaning, description: `${meaning.description} ${how}`})
  return z
    .object({
      mean: over('Mean over replicates.'),
      median: over('Median over replicates.'),
      low: over(
        'Lower end of an interval that covers the median with at least 95 %; `null` below six replicates.',
      ),
      high: over('Upper end of that interval.'),
      min: over('Smallest value of a replicate.'),
      max: over('Largest value of a replicate.'),
    })
    .meta({...meaning})
}

export const positionResult = z.object({
  position: z.int().describe('Eighth of the sequence that queries lie in, from 0.'),
  query_error: metric({
    description: 'Median over these queries of |estimate - exact| / |exact|, norms of one row.',
  }),
})

/** One that not all records have. */
function rowMetric(meaning: Meaning) {
  return metric(meaning)
    .nullable()
    .meta({...meaning})
}

/** One that records have where the input has what it takes, from a version on. */
function modelMetric(meaning: Meaning) {
  return rowMetric(meaning)
    .default(null)
    .meta({...meaning})
}

/** Parts of the mean over replicates of the square of a relative error. */
function splitOf(error: keyof typeof MODEL_METRICS) {
  const description = `Bias and variance of ${error}: they add up to the mean of its square over replicates.`
  return z
    .object({
      bias_squared: nullableNumber.describe(
        `Part of the mean of ${error}^2 that does not fall with more draws, corrected for the noise of few draws.`,
      ),
      variance: nullableNumber.describe('The other part: variance over draws.'),
      bias_squared_standard_error: nullableNumber.describe(
        'Standard error of bias_squared: 0 where nothing is drawn, `null` where not known.',
      ),
      variance_standard_error: nullableNumber.describe('Standard error of variance.'),
    })
    .nullable()
    .default(null)
    .describe(description)
}

/** Fewest replicates for standard errors of means; the same number as for an interval of the median. */
export const LEAST_FOR_ERRORS = LEAST_FOR_INTERVAL

/**
 * Why means over replicates have no standard error:
 * - `not_finite`: an estimate broke
 * - `sign_changes`: denominators came out on both sides of zero, and one near it can make any error
 * - `few_replicates`: below six
 * - `one_draw`: a single replicate makes up more than half of the summed squared error
 * - `not_recorded`: written by a version that kept no standard errors
 */
const MEANS_UNKNOWN = [
  'not_finite',
  'sign_changes',
  'few_replicates',
  'one_draw',
  'not_recorded',
] as const
export type MeansUnknown = (typeof MEANS_UNKNOWN)[number]

/** Why there are no row metrics. */
const ROWS_UNKNOWN = ['exact', 'no_weights', 'not_asked'] as const

/** What theory says of the features of one head, or of all of them. */
const needs = {
  needed_num_features: nullableNumber.describe(
    'Smallest M with a predicted relative variance of a kernel entry of at most 1 at the mean squared norms of every head; single pairs may need far more. `null` without theory and beyond doubles.',
  ),
  needed_num_features_log10: nullableNumber.describe(
    'Decimal logarithm of needed_num_features, also beyond doubles; `null` without theory.',
  ),
}
/** The error of outputs that theory predicts, next to the measured one. */
const predicted = {
  predicted_rel_l2: nullableNumber
    .default(null)
    .describe(
      'Predicted rel_l2 for this M and input: the median over draws of other random rows than the measured ones, continued by theory where draws of two seeds differ or take too long, and beyond 4096; `null` without a theory for the method, its options, its projection or its target, and where it is unknown.',
    ),
  num_features_for_5_percent: nullableNumber
    .default(null)
    .describe(
      'M at which rel_l2 falls to 0.05: the measured error, continued along the prediction; `null` without a prediction, beyond 2^24, and where it is unknown.',
    ),
  prediction_unknown: z
    .enum(UNKNOWN)
    .nullable()
    .default(null)
    .describe(
      'Why the predicted rel_l2, or the M for 0.05, is unknown: `overflow` of weights in float32, or predictions that are `uncertain`, because two seeds differ by more than 15 % or errors rise with M, or a `denominator` of sines and cosines with a standard deviation above 30 % of its mean; or why no M has an error of 0.05: there are no more proposals than `tokens`; or `not_asked`: the plan has no predictions; `null`: they are known, M is beyond 2^24, or there is no theory.',
    ),
}
/** How far predictions of all heads together go. */
const ranges = {
  num_features_for_5_percent_low: nullableNumber
    .default(null)
    .describe(
      'Lower end of num_features_for_5_percent: predicted errors are known to within a factor of 1.15, as two seeds may differ, and of 1.32 beyond what was drawn, where that is less than 4096.',
    ),
  num_features_for_5_percent_high: nullableNumber
    .default(null)
    .describe('Upper end of it; `null` where it lies beyond what is known.'),
  last_num_features: nullableNumber
    .default(null)
    .describe('Largest M of the prediction, beyond that of the cell.'),
  last_rel_l2: nullableNumber.default(null).describe('Predicted rel_l2 there.'),
  last_rel_l2_low: nullableNumber
    .default(null)
    .describe('Lower end of it, by the same factors as above.'),
  last_rel_l2_high: nullableNumber.default(null).describe('Upper end of it.'),
}
const mse_over_mean_value = nullableNumber.describe(
  'Median mean squared error over the error of averaging V: above 1 is worse than ignoring queries and keys; `null` where averaging V is exact up to float32 rounding.',
)
const statistics = inputStatistics.describe('Norms and entropies of the scaled inputs.')
const {batch, heads, head_dim, value_dim} = sizeFields

const headResult = z.object({
  head: z.int().describe('Index of the head, from 0.'),
  rel_l2: nullableNumber.describe('Median of |estimate - exact| / |exact|, Euclidean.'),
  token_mean_rel_l2: nullableNumber
    .default(null)
    .describe('Median of the same of the means over tokens; `null`: not measured by that version.'),
  mse: nullableNumber.describe('Median of the mean squared error of an output entry.'),
  mse_over_mean_value,
  ...predicted,
  ...needs,
  statistics,
})

export const errorSweepResult = z.object({
  batch,
  heads,
  query_len: z.int().describe('L, number of queries used.'),
  key_len: z.int().describe('S, number of keys and values used.'),
  head_dim,
  value_dim,
  key_heads: z
    .int()
    .nullable()
    .default(null)
    .describe(
      'Heads of keys and values in the file, each shared by heads / key_heads heads of queries; `null`: not shared.',
    ),
  logit_scale: nullableNumber
    .default(null)
    .describe(
      'beta: logits are beta q.k; `null`: recorded by a version that always took 1/sqrt(D).',
    ),
  hidden_keys: z
    .int()
    .default(0)
    .describe('Number of masked keys over all sequences; they take no part.'),
  judged_queries: z
    .int()
    .nullable()
    .default(null)
    .describe(
      'Number of compared queries over all sequences: where L = S, queries with a masked key are left out; `null`: all.',
    ),
  ran_causal: z
    .boolean()
    .nullable()
    .default(null)
    .describe(
      'Whether the model ran with a causal mask, by the file; `null`: the file does not say.',
    ),
  feature_dim: featureDim,
  ...computedBy,
  operations: operationForms,
  target_label: z.string().describe('What the estimate is compared with, in words.'),
  limit_distance: nullableNumber
    .default(null)
    .describe(
      'How far the target is off softmax of the given q and k: |target - softmax| / |softmax|, Euclidean, over all outputs; `null`: recorded by a version that kept none.',
    ),
  truth: z
    .enum(['float64', 'float32-tiled'])
    .describe('How the target was computed; `float32-tiled` where float64 would take too long.'),
  ...perMetric(OUTPUT_METRICS, (_, meaning) => metric(meaning)),
  rel_l2_over_texts: z
    .object({
      mean: nullableNumber.describe('Mean over sequences and replicates of rel_l2 of a sequence.'),
      low: nullableNumber.describe(
        'Lower end of its 95 % interval over sequences and replicates: another input would have other sequences, too.',
      ),
      high: nullableNumber.describe('Upper end of that interval.'),
    })
    .nullable()
    .default(null)
    .describe('rel_l2 of the sequences of a batch, as a mean; `null` of a single one.'),
  ...perMetric(QUERY_METRICS, (_, meaning) =>
    rowMetric(meaning)
      .default(null)
      .meta({...meaning}),
  ),
  query_errors_by_position: z
    .array(positionResult)
    .nullable()
    .default(null)
    .describe('Errors of queries by their position; `null`: attention is not causal.'),
  row_kl_nats: rowMetric(ROW_METRICS.row_kl_nats),
  row_total_variation: rowMetric(ROW_METRICS.row_total_variation),
  row_kl_infinite_pct: nullableNumber.meta({
    unit: '%',
    description: 'Rows of infinite KL divergence: a weight <= 0 where the exact one is not.',
  }),
  row_sample: z
    .object({
      rows: z.int().describe('Rows that were compared.'),
      of: z.int().describe('Rows that there are: queries of all heads.'),
      draws: z.int().describe('Number of replicates with compared rows: the first ones.'),
      standard_errors: z
        .object(
          perMetric(ROW_METRICS, (name, {unit}) =>
            nullableNumber.meta({
              description: `Standard error of ${name} of a replicate because not all rows were compared: median over these replicates.`,
              unit,
            }),
          ),
        )
        .describe('What comparing some of the rows adds to row metrics.'),
    })
    .nullable()
    .default(null)
    .describe(
      'The sample of rows that row metrics come from; `null`: they come from all rows, or there are none.',
    ),
  rows_unknown: z
    .enum(ROWS_UNKNOWN)
    .nullable()
    .default(null)
    .describe(
      'Why there are no row metrics: of sampled queries, as the method is `exact`, or has `no_weights` of single queries; row_metrics measures those, too; or `not_asked`: the plan has neither row_queries nor row_metrics. `null`: there are, or an earlier version was not asked for them.',
    ),
  row_top1_agreement: modelMetric(ROW_METRICS.row_top1_agreement),
  row_top8_agreement: modelMetric(ROW_METRICS.row_top8_agreement),
  ...perMetric(MODEL_METRICS, (_, meaning) => modelMetric(meaning)),
  token_mean_split: splitOf('token_mean_rel_l2'),
  projected_split: splitOf('projected_rel_l2'),
  residual_split: splitOf('residual_error'),
  bias_squared: nullableNumber.describe(
    'Part of mse_mean that does not fall with more draws, corrected for the noise of few draws; `null` with one replicate of a random method.',
  ),
  variance: nullableNumber.describe('The other part of mse_mean: variance over draws.'),
  mse_standard_error: nullableNumber.describe(
    'Standard error of mse_mean: 0 where nothing is drawn, `null` where not known.',
  ),
  bias_squared_standard_error: nullableNumber.describe('Standard error of bias_squared.'),
  variance_standard_error: nullableNumber.describe('Standard error of variance.'),
  means_unknown: z
    .enum(MEANS_UNKNOWN)
    .nullable()
    .describe(
      'Why standard errors are unknown and means over replicates cannot be compared; `null` where they can.',
    ),
  mean_value_mse: z
    .number()
    .describe('Mean squared error of averaging V over the keys in view, against the same target.'),
  mse_over_mean_value,
  ...predicted,
  ...ranges,
  predicted_bias_squared: nullableNumber
    .default(null)
    .describe(
      'Predicted bias_squared to order 1/M^2, from draws of other random rows than the measured ones; `null` without such a prediction of rel_l2, where denominators have a standard deviation above 30 % of their mean, and where two seeds differ by too much.',
    ),
  predicted_relative_variance: nullableNumber.describe(
    'Predicted relative variance of a kernel entry at the mean squared norms of the head where it is largest; `null` without theory and beyond doubles.',
  ),
  ...needs,
  least_needed_num_features: nullableNumber.describe(
    'Smallest M with a prediction of at most 1 at the mean squared norms of some head.',
  ),
  statistics,
  per_head: z.array(headResult).describe('The same of every head.'),
  replicates_run: z
    .int()
    .nullable()
    .default(null)
    .describe('Replicates that were run, with until_ci; `null`: those of the cell.'),
  stopped_by: z
    .enum(['precision', 'max_replicates'])
    .nullable()
    .default(null)
    .describe(
      'Why replicates ended, with until_ci: the median is precise enough, or the largest number was reached.',
    ),
  replicate_metrics: replicateMetrics,
})
export type ErrorSweepResult = z.infer<typeof errorSweepResult>

/** Lists that take most of a record: reports of large runs read them again, see `heavy-lists.ts`. */
export const HEAVY_LISTS = ['per_head', 'replicate_metrics'] as const

/** A result as reports get it. */
export type HeldSweepResult = HeldResult<ErrorSweepResult, (typeof HEAVY_LISTS)[number]>

/** A record as reports get it. */
export type ErrorSweepRecord = CellRecord<ErrorSweepCell, HeldSweepResult>
export type CompletedSweep = Completed<ErrorSweepCell, HeldSweepResult>

/** How many replicates a record is of. */
export function replicatesOf({cell, result}: Pick<CompletedSweep, 'cell' | 'result'>): number {
  return result.replicates_run ?? cell.replicates
}
