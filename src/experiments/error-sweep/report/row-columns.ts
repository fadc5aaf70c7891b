/** Columns of errors of attention rows, of all queries or of sampled ones, and what the tables say of them. */
import type {ColumnSpec} from '../../../report/document.js'
import {groupBy} from '../../../report/groups.js'
import {errorText, percent, significant, withError} from '../../../report/numbers.js'
import {listed} from '../../../report/words.js'
import {variantLabel} from '../../labels.js'
import type {ROW_METRICS} from '../replicate-metrics.js'
import type {CompletedSweep} from '../schema.js'
import {methodsOf} from './standing.js'

type RowMetric = keyof typeof ROW_METRICS
type Column = ColumnSpec<CompletedSweep>

/** The median over draws; of sampled rows with the standard error of the sample. */
function rowColumn(title: string, priority: number, name: RowMetric): Column {
  return {
    title,
    priority,
    cell: ({result}) => {
      const error = result.row_sample?.standard_errors[name]
      return withError(result[name]?.median ?? null, error ?? 0)
    },
    tells: ({result}) => result[name] !== null,
  }
}

/** In the order of the tables. */
export const ROW_COLUMNS: readonly Column[] = [
  rowColumn('KL nats', 3, 'row_kl_nats'),
  rowColumn('TV', 3, 'row_total_variation'),
  rowColumn('top-1', 4, 'row_top1_agreement'),
  rowColumn('top-8', 5, 'row_top8_agreement'),
  {
    title: 'KL inf %',
    priority: 4,
    cell: ({result}) => percent(result.row_kl_infinite_pct),
    tells: ({result}) => (result.row_kl_infinite_pct ?? 0) > 0,
  },
]

/** Of which rows the columns are. */
export function rowsLegend(records: readonly CompletedSweep[]): string[] {
  if (!records.some(({result}) => result.row_total_variation)) return []
  const sampled = groupBy(
    records.filter(({result}) => result.row_sample !== null),
    ({result}) => shareText(result.row_sample!),
  ).map(([first]) => shareText(first!.result.row_sample!))
  const of =
    sampled.length === 0
      ? 'all attention rows'
      : `${listed(sampled)} attention rows, drawn by the seed, with the standard error of this sample`
  return [
    `KL, TV: KL divergence and total variation between exact and estimated weights; top-1, top-8: share of the largest weights that agree; of ${of}.`,
  ]
}

/** `72 of 3,072`. */
function shareText({rows, of}: {rows: number; of: number}): string {
  return `${rows.toLocaleString('en-US')} of ${of.toLocaleString('en-US')}`
}

/** Which methods have no weights of single queries. */
export function rowNotes(records: readonly CompletedSweep[]): string[] {
  const lacking = records.filter(({result}) => result.rows_unknown === 'no_weights')
  if (lacking.length === 0) return []
  return [
    `${listed(methodsOf(lacking))}: no KL, TV and top-1 by default, as the method gives no weights of single queries; --row-metrics computes them`,
  ]
}

/** Half the width of a 95 % interval, in standard errors. */
const NORMAL_95 = 1.96

/** What became of the rows of one variant, in a sentence: intervals are over queries. */
export function rowSentence({cell, result}: CompletedSweep): string[] {
  const {row_kl_nats: kl, row_total_variation: tv, row_top1_agreement: top} = result
  const {row_sample: sample} = result
  if (!tv) return []
  const reach = (name: RowMetric) => NORMAL_95 * (sample?.standard_errors[name] ?? 0)
  const within = (value: number | null | undefined, name: RowMetric) => {
    const own = reach(name)
    return `${significant(value, 2)}${own > 0 ? ` ± ${significant(own, 1)}` : ''}`
  }
  const topReach = reach('row_top1_agreement')
  const topText = topReach > 0 ? ` ± ${significant(100 * topReach, 1)} %` : ''
  const parts = [
    `total variation ${within(tv.median, 'row_total_variation')}`,
    ...(kl?.median == null ? [] : [`KL divergence ${within(kl.median, 'row_kl_nats')} nats`]),
    ...(top?.median == null ? [] : [`same largest weight in ${errorText(top.median)}${topText}`]),
  ]
  const of = sample ? ` (${shareText(sample)} rows)` : ''
  return [`attention rows of ${variantLabel(cell)}: ${parts.join(', ')}${of}`]
}
