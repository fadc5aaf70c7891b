/** From replicates to what a record says of them. */
import type {InputStatistics} from '../../../inputs/statistics.js'
import {
  finiteOrNull,
  type MeanInterval,
  mean,
  overDrawsAndTexts,
  summarise,
  variance,
} from '../../../stats/index.js'
import {type Prediction, predictRelativeVariance} from '../../../theory/predictor.js'
import type {ResolvedMethod} from '../../method.js'
import {type Curve, type Curves, errorAt, lastError, neededFor} from '../curve.js'
import {
  keptMetrics,
  MODEL_METRICS,
  measured,
  OUTPUT_METRICS,
  perMetric,
  QUERY_METRICS,
  ROW_METRICS,
} from '../replicate-metrics.js'
import {
  type ErrorSweepCell,
  type ErrorSweepResult,
  LEAST_FOR_ERRORS,
  type MeansUnknown,
} from '../schema.js'
import type {SweepContext} from './context.js'
import type {ErrorSplit} from './moments.js'
import type {ModelSplits, Replicate} from './replicates.js'
import type {RowMetrics} from './row-distances.js'
import {meanByRows, overall, overYardstick} from './truth.js'

/** Metrics that are better when higher. */
const SIMILARITIES: readonly string[] = ['cosine', 'row_top1_agreement', 'row_top8_agreement']

/** A metric over replicates; what is not finite counts as the worst there is. */
function summaryOf(name: string, values: readonly number[]) {
  return summarise(values, {worst: SIMILARITIES.includes(name) ? 'low' : 'high'})
}

export function summaries(replicates: readonly Replicate[]) {
  return perMetric(OUTPUT_METRICS, name =>
    summaryOf(
      name,
      replicates.map(({all}) => all[name]),
    ),
  )
}

/** Errors that are nearer to what a model loses over replicates, null where the input lacks what they take. */
export function modelSummaries(replicates: readonly Replicate[]) {
  const errors = replicates.map(({model}) => model)
  return perMetric(MODEL_METRICS, name => {
    const known = measured(errors, name)
    return known && summaryOf(name, known)
  })
}

/** Row metrics over replicates, null where they were not asked for. */
export function rowSummaries(replicates: readonly Replicate[]) {
  const rows = rowsOf(replicates)
  const of = (name: keyof RowMetrics) =>
    rows &&
    summaryOf(
      name,
      rows.map(own => own[name]),
    )
  return {
    ...perMetric(ROW_METRICS, name => of(name)),
    row_kl_infinite_pct: of('row_kl_infinite_pct')?.mean ?? null,
  }
}

/** How the queries of row metrics were chosen, or why there are none. */
export function sampleSummary(
  cell: Pick<ErrorSweepCell, 'row_metrics' | 'row_queries'>,
  method: Pick<ResolvedMethod, 'estimator'>,
  {replicates, sampled}: {replicates: readonly Replicate[]; sampled: RowCounts | undefined},
): Pick<ErrorSweepResult, 'row_sample' | 'rows_unknown'> {
  if (!sampled) return {row_sample: null, rows_unknown: whyNoSample(cell, method)}
  const errors = replicates.flatMap(({rows}) => rows?.errors ?? [])
  const median = (name: keyof typeof ROW_METRICS) => summarise(errors.map(own => own[name])).median
  const standard_errors = perMetric(ROW_METRICS, median)
  const row_sample = {...sampled, draws: errors.length, standard_errors}
  return {row_sample, rows_unknown: null}
}

/** Why no rows were sampled; `null` where all were compared. */
function whyNoSample(
  {row_metrics: all, row_queries: queries}: Pick<ErrorSweepCell, 'row_metrics' | 'row_queries'>,
  {estimator}: Pick<ResolvedMethod, 'estimator'>,
): ErrorSweepResult['rows_unknown'] {
  if (all) return null
  if (queries === undefined) return 'not_asked'
  return estimator.unbiasedFor === 'exact' ? 'exact' : 'no_weights'
}

/** How many rows were compared, and how many there are. */
interface RowCounts {
  rows: number
  of: number
}

/** The mean of rel_l2 over sequences and replicates; `null` of a single sequence. */
export function overTexts(replicates: readonly Replicate[]): MeanInterval | null {
  const table = replicates.map(({perSequence}) => perSequence)
  return table[0]!.length > 1 ? overDrawsAndTexts(table) : null
}

/** Errors of queries over replicates; by position where attention is causal. */
export function querySummaries(replicates: readonly Replicate[]) {
  const all = replicates.map(({queries}) => queries)
  const places = all[0]!.positions
  return {
    ...perMetric(QUERY_METRICS, name => summarise(all.map(own => own[name]))),
    query_errors_by_position:
      places?.map((_, position) => ({
        position,
        query_error: summarise(all.map(own => own.positions![position]!)),
      })) ?? null,
  }
}

function rowsOf(replicates: readonly Replicate[]): RowMetrics[] | null {
  const rows = replicates.flatMap(replicate => replicate.rows ?? [])
  return rows.length > 0 ? rows : null
}

/** The metrics of every replicate, for the record. */
export function replicateLists(
  context: Pick<SweepContext, 'input' | 'yardsticks'>,
  replicates: readonly Replicate[],
): ErrorSweepResult['replicate_metrics'] {
  const [, heads] = context.input.query.shape
  return keptMetrics(
    replicates.map(({all}) => all),
    rowsOf(replicates) && replicates.map(({rows}) => rows),
    Array.from({length: heads}, (_, head) => headErrors(context, head, replicates, 'mse')),
    replicates.map(({model}) => model),
    replicates[0]!.perSequence.map((_, at) => replicates.map(own => own.perSequence[at]!)),
  )
}

/** A metric of one head of each replicate: batch elements of the head together, each counting by its rows. */
function headErrors(
  {input, yardsticks}: Pick<SweepContext, 'input' | 'yardsticks'>,
  head: number,
  replicates: readonly Pick<Replicate, 'perHead'>[],
  name: 'mse' | 'rel_l2' | 'token_mean_rel_l2',
): number[] {
  const ofHead = <Item>(items: readonly Item[]) => itemsOfHead(items, head, input)
  const own = ofHead(yardsticks)
  return replicates.map(r =>
    meanByRows(
      own,
      ofHead(r.perHead).map(metrics => metrics[name]),
    ),
  )
}

/** Of a list of all heads of each batch element those of one head. */
function itemsOfHead<Item>(
  items: readonly Item[],
  head: number,
  {query}: SweepContext['input'],
): Item[] {
  return items.filter((_, i) => i % query.shape[1] === head)
}

/** The error of averaging V, and how the median compares. */
export function yardstick(
  context: Pick<SweepContext, 'yardsticks'>,
  replicates: readonly Pick<Replicate, 'all'>[],
) {
  const all = overall(context.yardsticks)
  const {median} = summarise(replicates.map(r => r.all.mse))
  return {mean_value_mse: all.mse, mse_over_mean_value: overYardstick(median, all)}
}

/** What theory predicts of one head, if it does. */
function predictionOf(
  {estimator, tuned}: ResolvedMethod,
  {sum_norm2: sumNorm2, difference_norm2: differenceNorm2}: InputStatistics,
  headDim: number,
  numFeatures: number | null,
): Prediction | undefined {
  const {varianceLaw} = estimator
  if (!varianceLaw || tuned || numFeatures === null) return undefined
  return predictRelativeVariance(varianceLaw, {sumNorm2, differenceNorm2, headDim}, numFeatures)
}

/** The M that a prediction asks for, as records hold it. */
function needOf(prediction: Prediction | undefined) {
  return {
    needed_num_features: finiteOrNull(prediction?.neededNumFeatures),
    needed_num_features_log10: finiteOrNull(prediction?.neededLog10),
  }
}

/**
 * Predicted relative variance of a kernel entry in the worst head, the M that would bring it to 1 there,
 * and the M that would do so in the best: a mean over heads of what grows exponentially describes neither.
 */
export function prediction(
  method: ResolvedMethod,
  heads: readonly InputStatistics[],
  headDim: number,
  numFeatures: number | null,
) {
  const sorted = heads
    .flatMap(head => predictionOf(method, head, headDim, numFeatures) ?? [])
    .sort((a, b) => a.neededLog10 - b.neededLog10)
  const worst = sorted.at(-1)
  return {
    predicted_relative_variance: finiteOrNull(worst?.relativeVariance),
    ...needOf(worst),
    least_needed_num_features: finiteOrNull(sorted[0]?.neededNumFeatures),
  }
}

/** The error that theory predicts, and where the measured one goes from here. */
export function predictedError(
  curve: Curve | undefined,
  {num_features}: {num_features: number | null},
  measured: number | null,
) {
  if (!curve || num_features === null) {
    return {predicted_rel_l2: null, num_features_for_5_percent: null, prediction_unknown: null}
  }
  const {needed, unknown} = neededFor(curve, num_features, measured)
  return {
    predicted_rel_l2: errorAt(curve, num_features),
    num_features_for_5_percent: needed,
    prediction_unknown: unknown,
  }
}

/** How far that goes: the ends of the M for 5 %, and the error at the largest M of the curve. */
export function predictedRange(
  curve: Curve | undefined,
  {num_features}: {num_features: number | null},
  measured: number | null,
) {
  const of = curve && num_features !== null ? {curve, num_features} : undefined
  const ends = of && neededFor(of.curve, of.num_features, measured)
  const last = of && lastError(of.curve, of.num_features, measured)
  return {
    num_features_for_5_percent_low: ends?.low ?? null,
    num_features_for_5_percent_high: ends?.high ?? null,
    last_num_features: last?.numFeatures ?? null,
    last_rel_l2: last?.error.value ?? null,
    last_rel_l2_low: last?.error.low ?? null,
    last_rel_l2_high: last?.error.high ?? null,
  }
}

/** The same of the squared bias. */
export function predictedBias(
  biasSquared: Curve['errors'] | undefined,
  {num_features}: {num_features: number | null},
): number | null {
  return biasSquared && num_features !== null ? errorAt({errors: biasSquared}, num_features) : null
}

/** What heads are summarised by, in addition to their replicates. */
interface PerHeadFacts {
  method: ResolvedMethod
  cell: {num_features: number | null}
  context: Pick<SweepContext, 'input' | 'statistics' | 'yardsticks'>
  /** Statistics of what the features see. */
  own: SweepContext['statistics']
  curves: Curves | undefined
}

/** Each head for itself, batch elements of a head together. */
export function perHead(
  {method, cell, context, own, curves}: PerHeadFacts,
  replicates: readonly Pick<Replicate, 'perHead'>[],
): ErrorSweepResult['per_head'] {
  const [, heads, , headDim] = context.input.query.shape
  return Array.from({length: heads}, (_, head) => {
    const statistics = context.statistics.perHead[head]!
    const ownOfHead = own.perHead[head]!
    const ownYardsticks = itemsOfHead(context.yardsticks, head, context.input)
    const median = (name: 'mse' | 'rel_l2' | 'token_mean_rel_l2') =>
      summarise(headErrors(context, head, replicates, name)).median
    const [mse, rel_l2] = [median('mse'), median('rel_l2')]
    return {
      head,
      mse,
      rel_l2,
      token_mean_rel_l2: median('token_mean_rel_l2'),
      mse_over_mean_value: overYardstick(mse, overall(ownYardsticks)),
      ...predictedError(curves?.perHead[head], cell, rel_l2),
      ...needOf(predictionOf(method, ownOfHead, headDim, cell.num_features)),
      statistics,
    }
  })
}

/** The split of the mean squared error, the standard errors of its parts, or why there are none. */
type Means = Pick<
  ErrorSweepResult,
  | 'bias_squared'
  | 'variance'
  | 'mse_standard_error'
  | 'bias_squared_standard_error'
  | 'variance_standard_error'
  | 'means_unknown'
>

/** All of one draw's share of the squared error that a mean over draws can bear. */
const LARGEST_SHARE = 0.5

/**
 * Bias, variance and standard errors of a cell. A method that draws nothing has bias only, without
 * error. Standard errors that would mislead are left out: a squared error without a mean (see
 * `MEANS_UNKNOWN`) has averages and spreads of every size, whatever the number of draws.
 */
export function means(
  method: Pick<ResolvedMethod, 'random' | 'estimator'>,
  {replicates, split}: {replicates: readonly Pick<Replicate, 'all'>[]; split: ErrorSplit},
): Means {
  const errors = replicates.map(({all}) => all.mse)
  const {unknown, ...parts} = partsOf(method, {replicates, errors, split})
  const spread = drawsNothing(method, errors)
    ? 0
    : finiteOrNull(Math.sqrt(variance(errors) / errors.length))
  return {...parts, mse_standard_error: unknown === null ? spread : null, means_unknown: unknown}
}

/** The same of the squares of relative errors. */
export function modelMeans(
  method: Pick<ResolvedMethod, 'random' | 'estimator'>,
  {
    replicates,
    modelSplits: splits,
  }: {replicates: readonly Pick<Replicate, 'all' | 'model'>[]; modelSplits: ModelSplits},
): Pick<ErrorSweepResult, 'token_mean_split' | 'projected_split' | 'residual_split'> {
  const of = (name: keyof typeof MODEL_METRICS, split: ErrorSplit | undefined) => {
    const models = replicates.map(({model}) => model)
    const known = measured(models, name)
    if (!known || !split) return null
    const {unknown: _, ...parts} = partsOf(method, {
      replicates,
      errors: known.map(error => error ** 2),
      split,
    })
    return parts
  }
  return {
    token_mean_split: of('token_mean_rel_l2', splits.token_mean),
    projected_split: of('projected_rel_l2', splits.projected),
    residual_split: of('residual_error', splits.residual),
  }
}

interface SquaredErrors {
  replicates: readonly Pick<Replicate, 'all'>[]
  /** Of each replicate. */
  errors: readonly number[]
  split: ErrorSplit
}

/** Bias and variance with their standard errors, or why these are unknown. */
function partsOf(
  method: Pick<ResolvedMethod, 'random' | 'estimator'>,
  {replicates, errors, split}: SquaredErrors,
) {
  if (drawsNothing(method, errors)) {
    const exactly = {bias_squared_standard_error: 0, variance_standard_error: 0, unknown: null}
    return {bias_squared: errors[0]!, variance: 0, ...exactly}
  }
  const unknown = whyUnknown(method, replicates, errors)
  const known = (value: number | null) => (unknown === null ? value : null)
  return {
    bias_squared: split.biasSquared.value,
    variance: split.variance.value,
    bias_squared_standard_error: known(split.biasSquared.standardError),
    variance_standard_error: known(split.variance.standardError),
    unknown,
  }
}

function drawsNothing(
  {random}: Pick<ResolvedMethod, 'random'>,
  errors: readonly number[],
): boolean {
  return !random && errors.length === 1 && Number.isFinite(errors[0])
}

function whyUnknown(
  {estimator}: Pick<ResolvedMethod, 'estimator'>,
  replicates: readonly Pick<Replicate, 'all'>[],
  errors: readonly number[],
): MeansUnknown | null {
  if (!errors.every(Number.isFinite)) return 'not_finite'
  // a density that is positive at zero: 1 / den^2 has no mean
  if (!estimator.nonNegative && replicates.some(({all}) => all.negative_denominators_pct > 0)) {
    return 'sign_changes'
  }
  if (replicates.length < LEAST_FOR_ERRORS) return 'few_replicates'
  const share = Math.max(...errors) / (mean(errors) * errors.length)
  return share > LARGEST_SHARE ? 'one_draw' : null
}
