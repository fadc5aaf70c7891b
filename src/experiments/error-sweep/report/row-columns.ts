/** Columns of errors of attention rows, of all queries or of sampled ones, and what the tables say of them. */
import type {ColumnSpec} from '../../../report/document.js'
import {groupBy} from '../../../report/groups.js'
import {errorText, percent, significant} from '../../../report/numbers.js'
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
      const [value, error] = [result[name]?.median, result.row_sample?.standard_errors[name]]
      return error ? within(value, error) : significant(value)
    },
    tells: ({result}) => result[name] !== null,
  }
}

/** In the order of the tables. */
export const ROW_COLUMNS: readonly Column[] = [
  rowColumn('TV', 2, 'row_total_variation'),
  rowColumn('KL nats', 3, 'row_kl_nats'),
  rowColumn('top-1', 3, 'row_top1_agreement'),
  rowColumn('top-8', 5, 'row_top8_agreement'),
  {
    title: 'KL inf %',
    priority: 5,
    cell: ({result}) => percent(result.row_kl_infinite_pct),
    tells: ({result}) => (result.row_kl_infinite_pct ?? 0) > 0,
  },
]

/** What the columns are, and the rows that they come from. */
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
    `TV, KL: total variation and KL divergence between exact and estimated weights; top-1, top-8: share of the largest weights that agree; of ${of}.`,
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
  const names = methodsOf(lacking)
  const have = names.length === 1 ? 'this method has' : 'these methods have'
  return [
    `${listed(names)}: no KL, TV and top-1 by default, as ${have} no weights of single queries; --row-metrics computes them`,
  ]
}

/** Half the width of a 95 % interval, in standard errors. */
const NORMAL_95 = 1.96

/** What became of the rows of one variant: of all, or of a sample with its 95 % intervals over queries. */
export function rowSentence({cell, result}: CompletedSweep): string[] {
  const {row_kl_nats: kl, row_total_variation: tv, row_top1_agreement: top} = result
  if (!tv) return []
  const {standard_errors: errors} = result.row_sample ?? {standard_errors: null}
  if (!errors) {
    const agreement =
      top?.median == null ? '' : `, the largest weight agrees in ${errorText(top.median)} of rows`
    return [
      `rows of weights of ${variantLabel(cell)}: KL divergence ${significant(kl?.median, 2)} nats, total variation ${significant(tv.median, 2)}${agreement}`,
    ]
  }
  const reach = (error: number | null, unit = 1) => unit * NORMAL_95 * (error ?? 0)
  const variation = within(tv.median, reach(errors.row_total_variation))
  const share = top?.median == null ? null : 100 * top.median
  const agreement = within(share, reach(errors.row_top1_agreement, 100))
  return [
    `rows of ${variantLabel(cell)}: total variation ${variation}, top-1 agreement ${agreement} %`,
  ]
}

/** `0.42 ± 0.03`: the number as far as its error lets it be known. */
function within(value: number | null | undefined, error: number | null): string {
  if (value === null || value === undefined || !error) return significant(value, 2)
  const reach = significant(error, 1)
  const decimals = reach.includes('e') ? 0 : (reach.split('.')[1]?.length ?? 0)
  return `${decimals > 0 || error >= 1 ? value.toFixed(decimals) : significant(value)} ± ${reach}`
}
