/** The report of a variance experiment: closed form, what was measured, and orthogonal against iid. */

import {type Block, type ColumnSpec, heading, list, table} from '../../../report/document.js'
import {groupBy, inOrder} from '../../../report/groups.js'
import {significant, withInterval} from '../../../report/numbers.js'
import {backendItems, methodLabel, troubleItems} from '../../labels.js'
import {isIndependent} from '../measure/exact.js'
import {closedFormVariance, isRounding} from '../measure/rounding.js'
import {rowsText} from '../pair-text.js'
import {type CompletedVariance, mostDraws, type VarianceRecord} from '../schema.js'
import {methodBlocks} from './report-methods.js'
import {pairColumns} from './report-pairs.js'
import {tailBlocks} from './report-tails.js'
import {biasBound, type Row as ProjectionRow, rowsOf, varianceVerdicts} from './verdicts.js'

interface Row extends ProjectionRow {
  /** Its mean is further from the expectation than chance explains. */
  biased: boolean
}

/** Once, below all sections: what the columns and verdicts are. */
const LEGEND: readonly string[] = [
  'closed form: exact variance of one kernel estimate with these rows; in brackets that of iid rows, where no other is known',
  'variance: measured over replicates, with a 95 % interval; 0: rounding alone; too few draws: fewer than needed to measure the tail to 10 %',
  'error: relative standard error of the variance; t: draws are tilted, made where the moments of the estimate are, each with a weight',
  'z: ln(variance / closed form) in standard errors; bias z: (mean - expectation) in standard errors',
  'vs iid: variance over that of iid rows at equal M, with a 95 % interval, and exactly; bound: upper bound of Theorem 2 (arXiv:2009.14794v3) for orthogonal rows',
  'verdicts judge all rows of a question together (Bonferroni): about 5 % of runs have a false no; yes: no row speaks against it and, of projections, some pair varies less; inconclusive: nothing was measured, or no ratio is far enough from 1',
]

/** Blocks of a whole experiment, one section per head dimension. */
export function varianceReport(records: readonly VarianceRecord[]): Block[] {
  const completed = records.filter(record => record.status === 'completed')
  const bound = biasBound(records)
  const dimensions = groupBy(completed, ({cell}) => `${cell.head_dim} ${cell.orth_sign}`)
  return [
    ...dimensions.flatMap(group => section(group, bound)),
    ...tailBlocks(completed),
    ...methodBlocks(completed),
    ...verdictBlocks(records),
    ...list(completed.length > 0 ? LEGEND : []),
    ...list(backendItems(completed)),
    ...list([
      ...directionItems(completed),
      ...kernelItems(completed),
      ...effectItems(completed),
      ...calibrationItems(completed),
    ]),
    ...list(troubleItems(records)),
  ]
}

/** One line per question that the run answers. */
function verdictBlocks(records: readonly VarianceRecord[]): Block[] {
  const verdicts = varianceVerdicts(records)
  if (verdicts.length === 0) return []
  return [heading(2, 'Verdicts'), ...list(verdicts.map(({statement}) => statement))]
}

/** One head dimension: pairs of vectors by norm and angle, one line per projection. */
function section(records: readonly CompletedVariance[], bound: number): Block[] {
  const {head_dim, num_features, orth_sign, replicates} = records[0]!.cell
  const most = mostDraws(records[0]!.cell)
  const drawText = most === replicates ? String(replicates) : `${replicates} to ${most}`
  const oneSize = records.every(({cell}) => cell.num_features === num_features)
  const size = oneSize ? `, M=${num_features}` : ''
  const signs = orth_sign === 'raw' ? ', raw signs of orthogonal projections' : ''
  const sorted = inOrder(
    records,
    [({cell}) => methodLabel(cell)],
    [
      ({cell}) => cell.num_features,
      ({cell}) => cell.head ?? 0,
      ({cell}) => cell.norm,
      ({cell}) => cell.angle_deg,
    ],
  )
  const rows = rowsOf(sorted).map((row): Row => {
    const {bias_z} = row.own
    return {...row, biased: bias_z !== null && Math.abs(bias_z) > bound}
  })
  return [
    heading(2, `Kernel estimates, D=${head_dim}${size}, ${drawText} replicates${signs}`),
    table(oneSize ? COLUMNS.filter(column => column !== SIZE) : COLUMNS, rows),
  ]
}

/** Stands in the heading where there is only one. */
const SIZE: ColumnSpec<Row> = {title: 'M', cell: ({cell}) => String(cell.num_features)}

/** Columns of the table; measured variance and closed form always stay. */
const COLUMNS: readonly ColumnSpec<Row>[] = [
  {title: 'method', align: 'left', cell: ({cell}) => methodLabel(cell)},
  {title: 'projection', align: 'left', cell: ({own}) => rowsText(own)},
  SIZE,
  {
    title: 'R',
    priority: 1,
    cell: ({result}) => String(result.draws || '-'),
    tells: ({result}) => result.draws !== null,
  },
  {title: 'F', priority: 5, cell: ({result}) => String(result.feature_dim)},
  ...pairColumns<Row>(),
  {title: 'kernel', priority: 3, cell: ({result}) => significant(result.expectation)},
  {title: 'closed form', cell: closedFormText},
  {title: 'variance', cell: varianceText},
  {title: 'error', priority: 6, cell: errorText, sparse: true},
  {title: 'z', priority: 2, cell: ({own}) => significant(own.exact_z), sparse: true},
  {
    title: 'vs iid',
    priority: 1,
    cell: ({own}) => withInterval(own.ratio_to_iid, own.ratio_low, own.ratio_high),
    sparse: true,
  },
  {title: 'exactly', priority: 1, cell: ({own}) => significant(own.exact_ratio), sparse: true},
  {title: 'bound', priority: 4, cell: ({own}) => significant(own.theorem_bound), sparse: true},
  {
    title: 'bias z',
    priority: 2,
    cell: ({own, biased}) => `${significant(own.bias_z)}${biased ? ' *' : ''}`,
    sparse: true,
  },
  {title: 'rel MSE', priority: 4, cell: ({own}) => significant(own.relative_mse), sparse: true},
]

/** Of these rows; of i.i.d. ones, in brackets, where that is all that is known. */
function closedFormText({cell, result, own}: Row): string {
  const independent = closedFormVariance(cell, result)
  if (independent === 0 || isIndependent(own.projection)) return significant(independent)
  if (own.exact_variance !== null) return significant(own.exact_variance)
  return independent === null ? significant(null) : `(${significant(independent)})`
}

/** What was measured, or what it would take. */
function varianceText({own, result}: Row): string {
  if (isRounding(own, result)) return '0'
  if (own.needed_replicates !== null)
    return `too few draws (needs ${significant(own.needed_replicates)})`
  if (own.variance === null) return 'no number of draws is enough'
  return withInterval(own.variance, own.variance_low, own.variance_high)
}

/** How well it was measured, and by which draws. */
function errorText({own}: Row): string {
  const {variance_relative_standard_error: error, estimator} = own
  if (error === null || own.variance === null) return significant(null)
  return `${significant(100 * error, 2)} %${estimator === 'tilted' ? ' t' : ''}`
}

/** Rows that treat directions differently, and from which of them they were seen. */
function directionItems(records: readonly CompletedVariance[]): string[] {
  const rows = records.flatMap(({result}) => result.per_projection)
  const names = rows.filter(row => row.all_directions).map(({projection}) => projection)
  const raw = records.some(({cell}) => cell.orth_sign === 'raw')
  return [
    ...(names.length > 0
      ? [
          `all directions: rows of ${[...new Set(names)].join(', ')} treat directions differently; each draw has a fresh random direction, and bias and variance are averages over them`,
        ]
      : []),
    ...(raw
      ? [
          'raw signs: rows with them treat directions differently; all draws have one direction, by the seed, and another seed gives another bias',
        ]
      : []),
  ]
}

/** What is estimated, where not all methods estimate one kernel. */
function kernelItems(records: readonly CompletedVariance[]): string[] {
  const methods = groupBy(records, ({result}) => result.kernel)
  if (methods.length < 2 && records.every(({cell}) => cell.preset === 'exact' && isPlain(cell))) {
    return []
  }
  return methods.map(group => `${labels(group)}: kernel ${group[0]!.result.kernel}`)
}

function isPlain({options}: CompletedVariance['cell']): boolean {
  return Object.keys(options).length === 0
}

/** Which options of a label are not in its rows. */
function effectItems(records: readonly CompletedVariance[]): string[] {
  return groupBy(records, ({cell}) => methodLabel(cell)).flatMap(([first]) =>
    Object.entries(first!.result.without_effect).map(
      ([option, reason]) => `${methodLabel(first!.cell)}: ${option} has no part in it: ${reason}`,
    ),
  )
}

/** Where features that look at data have looked. */
function calibrationItems(records: readonly CompletedVariance[]): string[] {
  const calibrated = records.filter(({result}) => result.calibration_pairs !== null)
  if (calibrated.length === 0) return []
  const {calibration_pairs: pairs} = calibrated[0]!.result
  return [
    `${labels(calibrated)}: set by ${pairs} other pairs of the same norm and angle in independent planes, never by the pair that is estimated`,
  ]
}

function labels(records: readonly CompletedVariance[]): string {
  return [...new Set(records.map(({cell}) => methodLabel(cell)))].join(', ')
}
