/** From replicates to what a record says of them. */
import type {InputStatistics} from '../../../inputs/statistics.js'
import {finiteOrNull, summarise} from '../../../stats/index.js'
import {type Prediction, predictRelativeVariance} from '../../../theory/predictor.js'
import type {ResolvedMethod} from '../../method.js'
import {type Curve, errorAt, neededFor} from '../curve.js'
import {keptMetrics} from '../replicate-metrics.js'
import type {ErrorSweepResult} from '../schema.js'
import type {SweepContext} from './context.js'
import type {Curves} from './predicted.js'
import type {Replicate} from './replicates.js'
import type {RowMetrics} from './row-distances.js'
import {meanByRows, overall, overYardstick} from './yardstick.js'

const METRICS = ['mse', 'rel_l2', 'rel_l1', 'max_abs', 'cosine', 'not_finite_pct'] as const

/** Metrics over replicates. */
export function summaries(replicates: Replicate[]) {
  const of = (pick: (replicate: Replicate) => number) => summarise(replicates.map(pick))
  const distance = (name: (typeof METRICS)[number]) =>
    summarise(
      replicates.map(r => r.all[name]),
      {worst: name === 'cosine' ? 'low' : 'high'},
    )
  const distances = Object.fromEntries(METRICS.map(name => [name, distance(name)]))
  return {
    ...(distances as Record<(typeof METRICS)[number], ReturnType<typeof summarise>>),
    row_sum_deviation: of(r => r.rowSumDeviation),
    negative_denominators_pct: of(r => r.negativePct),
    guarded_pct: of(r => r.guardedPct),
  }
}

/** Row metrics over replicates, null where they were not asked for. */
export function rowSummaries(replicates: Replicate[]) {
  const rows = replicates.flatMap(replicate => replicate.rows ?? [])
  if (rows.length === 0) {
    return {
      row_kl_nats: null,
      row_total_variation: null,
      row_kl_infinite_pct: null,
      row_top1_agreement: null,
      row_top8_agreement: null,
    }
  }
  const of = (name: keyof RowMetrics) => summarise(rows.map(r => r[name]))
  const agreement = (name: keyof RowMetrics) =>
    summarise(
      rows.map(r => r[name]),
      {worst: 'low'},
    )
  return {
    row_kl_nats: of('row_kl_nats'),
    row_total_variation: of('row_total_variation'),
    row_kl_infinite_pct: of('row_kl_infinite_pct').mean,
    row_top1_agreement: agreement('row_top1_agreement'),
    row_top8_agreement: agreement('row_top8_agreement'),
  }
}

/** The metrics of every replicate, for the record. */
export function replicateLists(
  context: Pick<SweepContext, 'input' | 'yardsticks'>,
  replicates: readonly Replicate[],
): ErrorSweepResult['replicate_metrics'] {
  const [, heads] = context.input.query.shape
  const each = (pick: (replicate: Replicate) => number) => replicates.map(pick)
  const rows = (name: keyof RowMetrics) =>
    replicates[0]?.rows ? each(replicate => replicate.rows![name]) : null
  const {mse, rel_l2, rel_l1, max_abs, cosine} = Object.fromEntries(
    METRICS.map(name => [name, each(({all}) => all[name])]),
  ) as Record<(typeof METRICS)[number], number[]>
  return keptMetrics(
    {
      ...{mse, rel_l2, rel_l1, max_abs, cosine},
      row_sum_deviation: each(r => r.rowSumDeviation),
      negative_denominators_pct: each(r => r.negativePct),
      row_kl_nats: rows('row_kl_nats'),
      row_total_variation: rows('row_total_variation'),
      row_top1_agreement: rows('row_top1_agreement'),
      row_top8_agreement: rows('row_top8_agreement'),
    },
    Array.from({length: heads}, (_, head) => headErrors(context, head, replicates, 'mse')),
  )
}

/** A metric of one head of each replicate: batch elements of the head together, each counting by its rows. */
function headErrors(
  {input, yardsticks}: Pick<SweepContext, 'input' | 'yardsticks'>,
  head: number,
  replicates: readonly Replicate[],
  name: 'mse' | 'rel_l2',
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
export function yardstick(context: Pick<SweepContext, 'yardsticks'>, replicates: Replicate[]) {
  const all = overall(context.yardsticks)
  const {median} = summarise(replicates.map(r => r.all.mse))
  return {mean_value_mse: all.mse, mse_over_mean_value: overYardstick(median, all)}
}

/** What theory predicts of one head, if it does. */
function predictionOf(
  {estimator}: ResolvedMethod,
  {sum_norm2: sumNorm2, difference_norm2: differenceNorm2}: InputStatistics,
  headDim: number,
  numFeatures: number | null,
): Prediction | undefined {
  const {varianceLaw} = estimator
  if (!varianceLaw || numFeatures === null) return undefined
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
 * and the M that would do so in the best: a mean over heads of what grows exponentially tells of neither.
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

/** What heads are summarised by beside their replicates. */
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
  replicates: Replicate[],
): ErrorSweepResult['per_head'] {
  const [, heads, , headDim] = context.input.query.shape
  return Array.from({length: heads}, (_, head) => {
    const statistics = context.statistics.perHead[head]!
    const ownOfHead = own.perHead[head]!
    const ownYardsticks = itemsOfHead(context.yardsticks, head, context.input)
    const median = (name: 'mse' | 'rel_l2') =>
      summarise(headErrors(context, head, replicates, name)).median
    const [mse, rel_l2] = [median('mse'), median('rel_l2')]
    return {
      head,
      mse,
      rel_l2,
      mse_over_mean_value: overYardstick(mse, overall(ownYardsticks)),
      ...predictedError(curves?.perHead[head], cell, rel_l2),
      ...needOf(predictionOf(method, ownOfHead, headDim, cell.num_features)),
      statistics,
    }
  })
}
