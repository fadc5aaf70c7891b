/** Columns of errors of attention rows, of all queries or of sampled ones, and what the tables say of them. */
import type {ColumnSpec} from '../../../../report/document.js'
import {groupBy} from '../../../../report/groups.js'
import {errorText, percent, significant} from '../../../../report/numbers.js'
import {listed} from '../../../../report/words.js'
import {Z95} from '../../../../stats/index.js'
import {variantLabel} from '../../../labels.js'
import type {ROW_METRICS} from '../../replicate-metrics.js'
import type {CompletedSweep} from '../../schema.js'
import {methodsOf} from '../errors/ranking.js'

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

/** At the end: what was left out because the plan compares no rows. */
export function rowsAskedNotes(records: readonly CompletedSweep[]): string[] {
  if (!records.some(({result}) => result.rows_unknown === 'not_asked')) return []
  return [
    'TV, KL and top-1 of attention rows were not asked for: the same command with `row-queries` has them',
  ]
}

/** What became of the rows of one variant: of all, or of a sample with its 95 % intervals over queries. */
export function rowSentence({cell, result}: CompletedSweep): string[] {
  const {row_total_variation: tv, row_top1_agreement: top} = result
  if (tv?.median == null) return []
  const errors = result.row_sample?.standard_errors
  const share = (value: number, error: number | null | undefined) =>
    error ? `${within(100 * value, 100 * Z95 * error)} %` : errorText(value)
  const moved = share(tv.median, errors?.row_total_variation)
  const right =
    top?.median == null ? '' : `; top key right: ${share(top.median, errors?.row_top1_agreement)}`
  return [`${variantLabel(cell)}: ${moved} of attention on other keys${right}`]
}

/** `0.42 ± 0.03`: the number as far as its error lets it be known. */
function within(value: number | null | undefined, error: number | null): string {
  if (value === null || value === undefined || !error) return significant(value, 2)
  const reach = significant(error, 1)
  const decimals = reach.includes('e') ? 0 : (reach.split('.')[1]?.length ?? 0)
  return `${decimals > 0 || error >= 1 ? value.toFixed(decimals) : significant(value)} ± ${reach}`
}
