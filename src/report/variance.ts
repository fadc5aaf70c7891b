/** The report of a variance experiment: closed form, what was measured, and orthogonal against iid. */
import type {VarianceRecord, VarianceResult} from '../results/schemas/variance.js'
import {type Block, type ColumnSpec, heading, list, table, text} from './document.js'
import {backendItems, groupBy, inOrder, methodLabel, troubleItems} from './labels.js'
import {significant, withInterval} from './numbers.js'

type CompletedVariance = Extract<VarianceRecord, {status: 'completed'}>

/** One projection of one cell. */
interface Row {
  /** Method, budget, norm and angle. */
  cell: CompletedVariance['cell']
  /** Closed forms of that pair of vectors. */
  result: VarianceResult
  /** What this projection measured. */
  own: VarianceResult['per_projection'][number]
}

/** Said once below all sections: what the columns are. */
const LEGEND =
  'variance: of one kernel estimate over replicates, with a 95 % bootstrap interval; closed form: for iid rows; ' +
  'vs iid: variance over that of iid rows; bias z: (mean - expectation) in standard errors, beyond about 4 is suspicious.'

/** Blocks of a whole experiment, one section per head dimension. */
export function varianceReport(records: readonly VarianceRecord[]): Block[] {
  const completed = records.filter(record => record.status === 'completed')
  const dimensions = groupBy(completed, ({cell}) => `${cell.head_dim} ${cell.orth_sign}`)
  return [
    ...dimensions.flatMap(section),
    ...(completed.length > 0 ? [text(LEGEND)] : []),
    ...list(backendItems(completed)),
    ...list(troubleItems(records)),
  ]
}

/** One head dimension: pairs of vectors by norm and angle, one line per projection. */
function section(records: readonly CompletedVariance[]): Block[] {
  const {head_dim, orth_sign, replicates} = records[0]!.cell
  const signs = orth_sign === 'raw' ? ', raw signs of orthogonal projections' : ''
  const sorted = inOrder(
    records,
    [({cell}) => methodLabel(cell)],
    [({cell}) => cell.num_features, ({cell}) => cell.norm, ({cell}) => cell.angle_deg],
  )
  const rows = sorted.flatMap(({cell, result}) =>
    result.per_projection.map(own => ({cell, result, own})),
  )
  return [
    heading(2, `Kernel estimates, D=${head_dim}, ${replicates} replicates${signs}`),
    table(COLUMNS, rows),
  ]
}

/** Columns of the table; measured variance and closed form always stay. */
const COLUMNS: readonly ColumnSpec<Row>[] = [
  {title: 'method', align: 'left', cell: ({cell}) => methodLabel(cell)},
  {title: 'projection', align: 'left', cell: ({own}) => own.projection},
  {title: 'M', cell: ({cell}) => String(cell.num_features)},
  {title: 'F', priority: 5, cell: ({result}) => String(result.feature_dim)},
  {title: 'norm', cell: ({cell}) => String(cell.norm)},
  {title: 'angle', cell: ({cell}) => String(cell.angle_deg)},
  {title: 'kernel', priority: 3, cell: ({result}) => significant(result.expectation)},
  {title: 'closed form', cell: ({result}) => significant(result.closed_form_variance)},
  {
    title: 'variance',
    cell: ({own}) => withInterval(own.variance, own.variance_low, own.variance_high),
  },
  {
    title: 'vs iid',
    priority: 1,
    cell: ({own}) => withInterval(own.ratio_to_iid, own.ratio_low, own.ratio_high),
    tells: ({own}) => own.ratio_to_iid !== null && own.projection !== 'iid',
  },
  {
    title: 'bias z',
    priority: 2,
    cell: row => significant(biasZ(row)),
    tells: row => biasZ(row) !== null,
  },
  {
    title: 'rel MSE',
    priority: 4,
    cell: ({own}) => significant(own.relative_mse),
    tells: ({own}) => own.relative_mse !== null,
  },
]

/** `null` where theory leaves no spread: there the standard error is rounding alone. */
function biasZ({own, result}: Row): number | null {
  return result.closed_form_variance > 0 ? own.bias_z : null
}
