/** The columns of an error sweep's tables, and what their titles stand for. */

import type {ColumnSpec} from '../../../../report/document.js'
import {groupBy} from '../../../../report/groups.js'
import {MISSING, percent, significant, withError, withInterval} from '../../../../report/numbers.js'
import {LEAST_FOR_INTERVAL, type MetricSummary} from '../../../../stats/index.js'
import {methodLabel, projectionLabel} from '../../../labels.js'
import {UNKNOWN_BECAUSE} from '../../curve.js'
import {headsOf} from '../../heavy-lists.js'
import {
  type CompletedSweep,
  type HeldSweepResult,
  LEAST_FOR_ERRORS,
  replicatesOf,
} from '../../schema.js'
import {isRounding} from '../errors/comparison.js'
import {lowestError, type Ranking} from '../errors/ranking.js'
import {type Limits, limitColumns, limitsLegend} from './limits.js'
import {ROW_COLUMNS, rowsLegend} from './row-columns.js'

/** Said once below all tables: what the short column titles stand for. */
export function legend(records: readonly CompletedSweep[], limits: Limits): string {
  return [
    'M: random vectors; F: length of a feature vector; rel L2: |estimate - exact| / |exact|,',
    `median over replicates${spreadLegend(records)}.`,
    ...predictedLegend(records),
    ...modelLegend(records),
    ...meansLegend(records),
    'vs mean(V): rel L2 over that of averaging V; above 1 is worse.',
    ...limitsLegend(limits),
    ...textsLegend(records),
    ...queriesLegend(records),
    ...rowsLegend(records),
    ...(averagingIsExact(records) ? [EXACT_LEGEND] : []),
  ].join(' ')
}

function textsLegend(records: readonly CompletedSweep[]): string[] {
  if (!records.some(row => overTexts(row) !== null)) return []
  return [
    'mean over texts: of the rel L2 of each text, in [] its 95 % interval over texts and replicates; that of rel L2 is over replicates on these texts.',
  ]
}

function queriesLegend(records: readonly CompletedSweep[]): string[] {
  if (!records.some(({result}) => result.query_error_p50)) return []
  return ['50, 90, 99 % of queries: their rows of outputs have at most this relative error.']
}

/** What a prediction is; `npm run bench:calibrate -- error-predictions` says how good. */
function predictedLegend(records: readonly CompletedSweep[]): string[] {
  const shown = records.filter(({result}) => result.predicted_rel_l2 !== null)
  const withheld = records.some(
    ({result}) => result.predicted_rel_l2 === null && result.prediction_unknown === 'uncertain',
  )
  return [
    ...(shown.length > 0 ? [PREDICTED_LEGEND] : []),
    ...(shown.length > 0 && withheld
      ? [`Of methods that are predicted elsewhere, - means: ${UNKNOWN_BECAUSE.uncertain}.`]
      : []),
  ]
}

const PREDICTED_LEGEND = 'predicted: rel L2 of other draws, or from theory.'

/** What the errors that are nearer to the model are, as far as there are any. */
function modelLegend(records: readonly CompletedSweep[]): string[] {
  return MODEL_COLUMNS.flatMap(({title, read, legend}) =>
    records.some(({result}) => read(result) !== null) ? [`${title}: ${legend}.`] : [],
  )
}

/** What the columns of means say where there are any, or what they need. */
function meansLegend(records: readonly CompletedSweep[]): string[] {
  const isBiasPredicted = records.some(({result}) => result.predicted_bias_squared !== null)
  if (records.some(hasMeans)) return [MEANS_LEGEND, ...(isBiasPredicted ? [BIAS_LEGEND] : [])]
  const few = records.some(({result}) => result.means_unknown === 'few_replicates')
  return few ? [FEW_LEGEND] : []
}

/** What means add up to, and what a negative square means. */
const MEANS_LEGEND =
  'mean MSE = bias^2 + variance, with standard errors; a negative bias^2 is too small to see.'

/** What the prediction next to a measured bias is. */
const BIAS_LEGEND = 'predicted bias^2: to order 1/M^2, from other draws.'

/** What became of the columns of means. */
const FEW_LEGEND = `Mean MSE, bias^2 and variance need ${LEAST_FOR_ERRORS} replicates.`

/** Whether a cell has means over replicates that are worth comparing. */
function hasMeans({cell, result}: CompletedSweep): boolean {
  return replicatesOf({cell, result}) > 1 && result.mse_standard_error !== null
}

/** Why there is no ratio, but an error. */
const EXACT_LEGEND = 'No vs mean(V) where V hardly varies: averaging it is exact.'

/** Whether the ratio to averaging V is missing in all or in some head for want of a yardstick. */
function averagingIsExact(records: readonly CompletedSweep[]): boolean {
  const isMissing = (mse: number | null, ratio: number | null) => mse !== null && ratio === null
  if (records.some(({result}) => isMissing(result.mse.median, result.mse_over_mean_value))) {
    return true
  }
  // the yardsticks of heads are those of their input: a record without broken heads speaks for the others
  return groupBy(records, yardstickName).some(own => {
    for (const record of own) {
      const heads = headsOf(record)
      if (heads.some(({mse, mse_over_mean_value: ratio}) => isMissing(mse, ratio))) return true
      if (heads.every(({mse}) => mse !== null)) return false
    }
    return false
  })
}

/** The same of records that are held against the same averages of V. */
function yardstickName({cell}: CompletedSweep): string {
  const {input, layer, seq_len, scale, logit_scale, causal, target, method} = cell
  const own = target === 'raw' ? [] : [method, cell.preset, cell.options]
  return JSON.stringify([input, layer, seq_len, scale, logit_scale, causal, target, ...own])
}

/** What stands in brackets behind a median, as far as the tables have any. */
function spreadLegend(records: readonly CompletedSweep[]): string {
  const spreads = records.map(record => ({record, spread: spreadOf(record.result.rel_l2)}))
  const few = spreads
    .filter(({spread}) => spread === 'range')
    .map(({record}) => replicatesOf(record))
  const counts = [...new Set(few)].sort((a, b) => a - b).join(' or ')
  return [
    spreads.some(({spread}) => spread === 'interval') ? ', in [] their 95 % interval' : '',
    counts
      ? `, in () the range of ${counts} replicates (a 95 % interval needs ${LEAST_FOR_INTERVAL})`
      : '',
  ].join('')
}

/** How the spread of a median is shown: too few replicates have a range, but no interval. */
function spreadOf({low, high, min, max}: MetricSummary): 'interval' | 'range' | 'none' {
  if (low !== null && high !== null) return low === high ? 'none' : 'interval'
  // one end alone: broken replicates have taken the other
  if (low !== null || high !== null || min === null || max === null) return 'none'
  return min === max ? 'none' : 'range'
}

/** Relative width of an interval from which a third digit says nothing. */
const WIDE = 0.1

/** The median with its interval, `0.123 [0.119, 0.126]`, or with its range, `0.12 (0.11 - 0.14)`; `exact` up to rounding. */
function withSpread(row: CompletedSweep): string {
  if (isRounding(row)) return EXACT
  const {median, low, high, min, max} = row.result.rel_l2
  const spread = spreadOf(row.result.rel_l2)
  const [from, to] = spread === 'range' ? [min, max] : [low, high]
  const digits = digitsOf(median, from, to)
  if (spread !== 'range') return withInterval(median, low, high, digits)
  const [least, most] = [min, max].map(end => significant(end, digits))
  return `${significant(median, digits)} (${least} - ${most})`
}

function digitsOf(value: number | null, from: number | null, to: number | null): 2 | 3 {
  return value && from !== null && to !== null && to - from > WIDE * value ? 2 : 3
}

/** What stands in the place of float32 rounding. */
const EXACT = 'exact'

/** rel L2 over that of averaging V, both of them medians. */
export function overAverage(
  {mse_over_mean_value: share}: Pick<HeldSweepResult, 'mse_over_mean_value'> = {
    mse_over_mean_value: null,
  },
): string {
  return significant(share === null ? null : Math.sqrt(share))
}

/** Reads a metric that was summarised over replicates. */
type Metric = (result: HeldSweepResult) => MetricSummary | null
/** Reads a number that a cell has once. */
type Value = (result: HeldSweepResult) => number | null

/** The median of a metric; the column goes when it is missing or at most `floor` everywhere. */
function metric(
  title: string,
  priority: number,
  read: Metric,
  floor = 0,
): ColumnSpec<CompletedSweep> {
  const value = ({result}: CompletedSweep) => read(result)?.median ?? null
  return {
    title,
    priority,
    cell: row => percent(value(row)),
    tells: row => (value(row) ?? 0) > floor,
  }
}

/** A single number of the result; the column goes when it is missing or zero everywhere. */
function value(title: string, priority: number, read: Value): ColumnSpec<CompletedSweep> {
  return {
    title,
    priority,
    cell: ({result}) => significant(read(result)),
    tells: ({result}) => Boolean(read(result)),
  }
}

/** A mean over replicates with its standard error; the column goes when no row has one. */
function estimate(
  title: string,
  priority: number,
  read: (result: HeldSweepResult) => {value: number | null; error: number | null},
): ColumnSpec<CompletedSweep> {
  return {
    title,
    priority,
    cell: row => {
      const {value, error} = read(row.result)
      return error === null || isRounding(row) ? MISSING : withError(value, error)
    },
    tells: hasMeans,
  }
}

type Column = ColumnSpec<CompletedSweep>

/** Errors that are nearer to what a model loses than rel L2. */
const MODEL_COLUMNS: readonly {title: string; read: Metric; legend: string}[] = [
  {
    title: 'token mean',
    read: result => result.token_mean_rel_l2,
    legend: 'rel L2 of the mean over tokens, head by head',
  },
  {
    title: 'after W_O',
    read: result => result.projected_rel_l2,
    legend: 'rel L2 after the output projection',
  },
  {
    title: 'of residual',
    read: result => result.residual_error,
    legend: 'size of that error over the size of the residual stream',
  },
]

/** Fewest texts that say something of others: of two, Student's t has one degree of freedom. */
const LEAST_TEXTS = 3

/** The mean over texts, where there are enough for an interval and an error that is not rounding. */
export function overTexts(row: CompletedSweep): HeldSweepResult['rel_l2_over_texts'] {
  return row.result.batch < LEAST_TEXTS || isRounding(row) ? null : row.result.rel_l2_over_texts
}

/** The mean over texts with the interval over these and draws. */
function textsCell(row: CompletedSweep): string {
  const {mean, low, high} = overTexts(row) ?? {mean: null, low: null, high: null}
  return withInterval(mean, low, high, digitsOf(mean, low, high))
}

/** The error that a share of the queries has at most. */
const QUANTILES: readonly {title: string; read: Metric}[] = [
  {title: '50 % of\nqueries', read: result => result.query_error_p50},
  {title: '90 %', read: result => result.query_error_p90},
  {title: '99 %', read: result => result.query_error_p99},
]

/** The error of queries, the median over replicates. */
function queryError(title: string, read: Metric): Column {
  return {
    title,
    priority: 3,
    cell: row => (isRounding(row) ? MISSING : significant(read(row.result)?.median)),
    tells: row => !isRounding(row) && read(row.result) !== null,
  }
}

/** Row sums this close to 1 differ from it by float32 rounding. */
const ROUNDING = 2 ** -16

/** Which of several layers. */
const LAYER_COLUMN: ColumnSpec<CompletedSweep> = {
  title: 'layer',
  cell: ({cell}) => String(cell.layer ?? MISSING),
}

/** Which estimator, with which random matrix and how many rows of it, and on which layer where there are several. */
export function variantColumns(
  rows: readonly CompletedSweep[],
): readonly ColumnSpec<CompletedSweep>[] {
  const layers = new Set(rows.map(({cell}) => cell.layer))
  return layers.size > 1 ? [...VARIANT_COLUMNS, LAYER_COLUMN] : VARIANT_COLUMNS
}

/** The same without layers. */
export const VARIANT_COLUMNS: readonly ColumnSpec<CompletedSweep>[] = [
  {title: 'method', flexible: true, cell: ({cell}) => methodLabel(cell)},
  {
    title: 'projection',
    align: 'left',
    short: {title: 'proj.'},
    cell: ({cell}) => projectionLabel(cell) ?? MISSING,
    sparse: true,
  },
  {title: 'M', cell: ({cell}) => String(cell.num_features ?? MISSING), sparse: true},
]

/** All columns of an error table. @param rankings - of its rows @param limits - what they converge to */
export function columnsOf(
  rows: readonly CompletedSweep[],
  rankings: readonly Ranking[],
  limits: Limits,
): readonly ColumnSpec<CompletedSweep>[] {
  const [lengths, error, share, ...others] = COLUMNS
  const best = lowestError(rankings)
  return [
    ...variantColumns(rows),
    ...[lengths, {...error, best}, share],
    ...limitColumns(limits),
    ...others,
  ]
}

/**
 * Columns of the error tables after the names of variants, the most important first. The yardstick stands next to the error on
 * purpose: a relative error of 0.5 reads well until averaging V has the same. Narrow terminals lose diagnostics first, then the
 * split of the error, then spreads, and never the error itself or F, without which methods cannot be compared.
 */
const COLUMNS: readonly [Column, Column, Column, ...Column[]] = [
  {
    title: 'F',
    cell: ({result}) => (result.feature_dim > 0 ? String(result.feature_dim) : MISSING),
    sparse: true,
  },
  {
    title: 'rel L2',
    cell: withSpread,
    short: {
      cell: row => (isRounding(row) ? EXACT : significant(row.result.rel_l2.median)),
      lacks: 'spread of rel L2',
    },
  },
  {
    title: 'vs mean(V)',
    cell: row => (isRounding(row) ? MISSING : overAverage(row.result)),
    short: {title: 'vs\nmean(V)'},
  },
  {
    title: 'mean over\ntexts',
    priority: 2,
    cell: textsCell,
    tells: row => overTexts(row) !== null,
  },
  {
    title: 'predicted',
    priority: 1,
    cell: ({result}) => significant(result.predicted_rel_l2),
    sparse: true,
  },
  ...MODEL_COLUMNS.map(
    ({title, read}): Column => ({
      title,
      priority: 2,
      cell: row => (isRounding(row) ? MISSING : significant(read(row.result)?.median ?? null)),
      tells: row => read(row.result) !== null && !isRounding(row),
    }),
  ),
  // the mean, not the median: bias^2 and variance add up to it
  estimate('mean MSE', 2, ({mse, mse_standard_error: error}) => ({value: mse.mean, error})),
  estimate('bias^2', 3, ({bias_squared: value, bias_squared_standard_error: error}) => ({
    value,
    error,
  })),
  value('predicted\nbias^2', 4, result => result.predicted_bias_squared),
  estimate('variance', 4, ({variance: value, variance_standard_error: error}) => ({value, error})),
  value('cosine', 3, result => result.cosine.median),
  ...QUANTILES.map(({title, read}) => queryError(title, read)),
  metric('|row sum-1|', 6, result => result.row_sum_deviation, ROUNDING),
  metric('den<0 %', 2, result => result.negative_denominators_pct),
  metric('guarded %', 5, result => result.guarded_pct),
  metric('NaN %', 1, result => result.not_finite_pct),
  ...ROW_COLUMNS,
]
