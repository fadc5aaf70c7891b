/** Methods compared: variances of estimates of one kernel, at equal M and at equal F. */
import {type Block, type ColumnSpec, heading, table, text} from '../../../report/document.js'
import {significant, withInterval} from '../../../report/numbers.js'
import {logInterval} from '../../../stats/index.js'
import {methodLabel} from '../../labels.js'
import {isIndependent} from '../measure/exact.js'
import {closedFormVariance} from '../measure/rounding.js'
import {rowsText} from '../pair-text.js'
import type {CompletedVariance} from '../schema.js'
import {pairColumns} from './report-pairs.js'

type OwnRow = CompletedVariance['result']['per_projection'][number]

/** A row of a method, with the i.i.d. rows of the run's first method. */
interface Beside {
  record: CompletedVariance
  cell: CompletedVariance['cell']
  own: OwnRow
  /** F over that of the first method. */
  features: number
  /** Measured variance over that of the first method at equal M; `null` where one of them was not measured. */
  ratio: number | null
  /** Relative standard error of that, at most. */
  error: number | null
  /** The same by closed forms; 0 where this method alone does not vary. */
  exact: number | null
}

const LEGEND =
  'equal M: variance over that of the first method with iid rows, at the same number of random vectors; equal F: at the same number of ' +
  'features (one or two for a random vector), by the 1/M law of iid rows; exact, M and exact, F: by closed forms. [ ]: 95 % intervals.'

/** The table, where methods of different F estimate one kernel of the same pairs. */
export function methodBlocks(records: readonly CompletedVariance[]): Block[] {
  const rows = records
    .flatMap(record => rowsBeside(record, referenceOf(record, records)))
    .filter(({ratio, exact}) => ratio !== null || exact !== null)
  if (!rows.some(({features}) => features !== 1)) return []
  const first = methodLabel(records[0]!.cell)
  return [
    heading(2, `Variance compared with ${first} and iid rows`),
    table(COLUMNS, rows),
    text(LEGEND),
  ]
}

/** The record of the first method for the same pair, where that estimates the same kernel. */
function referenceOf(
  record: CompletedVariance,
  records: readonly CompletedVariance[],
): CompletedVariance | undefined {
  const first = methodLabel(records[0]!.cell)
  if (methodLabel(record.cell) === first) return undefined
  return records.find(
    ({cell, result}) =>
      methodLabel(cell) === first &&
      result.kernel === record.result.kernel &&
      pairKey({cell}) === pairKey(record),
  )
}

/** Everything but the method. */
function pairKey({cell}: Pick<CompletedVariance, 'cell'>): string {
  const {method: _method, preset: _preset, options: _options, plugin: _plugin, ...pair} = cell
  return JSON.stringify(pair)
}

function rowsBeside(record: CompletedVariance, reference: CompletedVariance | undefined): Beside[] {
  const iid = reference?.result.per_projection.find(({projection}) => isIndependent(projection))
  if (!reference || !iid) return []
  const features = record.result.feature_dim / reference.result.feature_dim
  const base = closedFormVariance(reference.cell, reference.result)
  return record.result.per_projection.map(own => {
    const exact = closedFormVariance(record.cell, record.result) === 0 ? 0 : own.exact_variance
    return {
      ...{record, cell: record.cell, own, features},
      ...measuredRatio(own, iid),
      exact: exact === null || !base ? null : exact / base,
    }
  })
}

/** The two share draws: the sum of both errors is the largest that their ratio can have. */
function measuredRatio(own: OwnRow, iid: OwnRow): Pick<Beside, 'ratio' | 'error'> {
  const [above, below] = [
    own.variance_relative_standard_error,
    iid.variance_relative_standard_error,
  ]
  const measured = own.variance !== null && iid.variance !== null && !own.withheld && !iid.withheld
  if (!measured || above === null || below === null) return {ratio: null, error: null}
  return {ratio: own.variance! / iid.variance!, error: above + below}
}

function measuredText({ratio, error}: Beside, factor: number): string {
  if (ratio === null || error === null) return significant(null)
  const {low, high} = logInterval(factor * ratio, error)
  return withInterval(factor * ratio, low, high)
}

function exactText({exact}: Beside, factor: number): string {
  return significant(exact === null ? null : factor * exact)
}

const COLUMNS: readonly ColumnSpec<Beside>[] = [
  {title: 'method', align: 'left', cell: ({record}) => methodLabel(record.cell)},
  {title: 'projection', align: 'left', cell: ({own}) => rowsText(own)},
  {title: 'D', priority: 4, cell: ({record}) => String(record.cell.head_dim)},
  {title: 'M', priority: 3, cell: ({record}) => String(record.cell.num_features)},
  {title: 'F', priority: 3, cell: ({record}) => String(record.result.feature_dim)},
  ...pairColumns<Beside>(),
  {title: 'equal M', priority: 2, cell: row => measuredText(row, 1), sparse: true},
  {title: 'exact, M', cell: row => exactText(row, 1), sparse: true},
  {title: 'equal F', priority: 2, cell: row => measuredText(row, row.features), sparse: true},
  {title: 'exact, F', cell: row => exactText(row, row.features), sparse: true},
]
