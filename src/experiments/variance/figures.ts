/** Figures of a variance experiment: what rows of a projection vary over independent ones, beside the closed form. */
import {type ColumnSpec, table} from '../../report/document.js'
import type {Figure, Point, Series} from '../../report/figures/figure.js'
import {groupBy} from '../../report/groups.js'
import {significant, withInterval} from '../../report/numbers.js'
import {methodLabel} from '../labels.js'
import {isIndependent} from './exact.js'
import type {CompletedVariance, VarianceCell, VarianceRecord, VarianceResult} from './schema.js'

/** A variable that pairs differ in, as an axis. */
interface Variable {
  /** Of the figure's name. */
  name: string
  title: string
  label: string
  field: keyof VarianceCell
}

const VARIABLES: readonly Variable[] = [
  {name: 'ratio-over-angle', title: 'over the angle', label: 'angle, degrees', field: 'angle_deg'},
  {name: 'ratio-over-norm', title: 'over the norm', label: 'norm of x', field: 'norm'},
]

/** Facts of a cell that all points of a figure share, but for its variable. */
const SHARED = ['head_dim', 'num_features', 'norm', 'angle_deg', 'orth_sign'] as const

/** One projection of a cell, with the value of the variable. */
interface Row {
  x: number
  cell: VarianceCell
  measured: VarianceResult['per_projection'][number]
}

/** Figures of a whole experiment; none of what has but one value, or of pairs that differ in more than one. */
export function varianceFigures(all: readonly VarianceRecord[]): Figure[] {
  const records = all.filter(record => record.status === 'completed').filter(isByNormAndAngle)
  return variablesOf(records).flatMap(variable => {
    const shared = SHARED.filter(field => field !== variable.field)
    const groups = groupBy(records, ({cell}) => JSON.stringify(shared.map(field => cell[field])))
    return groups.flatMap(group => figureOf(variable, group))
  })
}

/** The one that has more values, the angle rather than the norm: figures of both would be many, and of the same numbers. */
function variablesOf(records: readonly CompletedVariance[]): Variable[] {
  const [most] = VARIABLES.map(variable => ({
    variable,
    values: new Set(records.map(({cell}) => cell[variable.field])).size,
  })).toSorted((a, b) => b.values - a.values)
  return most && most.values > 1 ? [most.variable] : []
}

/** Pairs by sum and difference, by two norms, or of an input lie on no line. */
function isByNormAndAngle({cell}: CompletedVariance): boolean {
  return [cell.sum_norm, cell.key_norm, cell.head].every(value => value === undefined)
}

function figureOf(variable: Variable, records: readonly CompletedVariance[]): Figure[] {
  const rows = records
    .flatMap(({cell, result}) =>
      result.per_projection
        .filter(({projection}) => !isIndependent(projection))
        .map(measured => ({x: cell[variable.field] as number, cell, measured})),
    )
    .toSorted((a, b) => a.x - b.x)
  const lines = groupBy(rows, labelOf)
  const measured = lines.flatMap(own => seriesOf(own, measuredPoint))
  const known = lines.flatMap(own => seriesOf(own, exactPoint, true))
  const points = [...measured, ...known].flatMap(series => series.points)
  const xs = points.map(({x}) => x)
  if (new Set(xs).size < 2) return []
  return [
    {
      name: variable.name,
      title: `Variance over that of i.i.d. rows, ${variable.title}, ${placeOf(variable, records[0]!)}`,
      caption: `Variance of the kernel estimate over that with i.i.d. rows at equal M; bars are 95 % intervals${known.length > 0 ? ', thin lines with hollow markers the closed form' : ''}.`,
      x: {label: variable.label, scale: 'linear'},
      y: {label: 'variance over iid', scale: 'linear'},
      series: [...measured, ...known],
      guides: [
        {
          label: 'as i.i.d. rows',
          points: [
            [Math.min(...xs), 1],
            [Math.max(...xs), 1],
          ],
        },
      ],
      table: table(columnsOf(variable), rows),
    },
  ]
}

/** What all points of a figure share, in words. */
function placeOf({field}: Variable, {cell}: CompletedVariance): string {
  const {head_dim, num_features, norm, angle_deg, orth_sign} = cell
  return [
    `D=${head_dim} M=${num_features}`,
    field === 'norm' ? `at ${significant(angle_deg)} degrees` : `norm ${significant(norm)}`,
    ...(orth_sign === 'haar' ? [] : [`${orth_sign} signs`]),
  ].join(', ')
}

function labelOf({cell, measured}: Row): string {
  return `${methodLabel(cell)} ${measured.projection}`
}

function seriesOf(
  rows: readonly Row[],
  pointOf: (row: Row) => Point | undefined,
  computed = false,
): Series[] {
  const points = rows.flatMap(row => pointOf(row) ?? [])
  if (points.length === 0) return []
  const {cell, measured} = rows[0]!
  const {method} = cell
  const label = `${labelOf(rows[0]!)}${computed ? ', closed form' : ''}`
  return [{label, method, projection: measured.projection, points, ...(computed && {computed})}]
}

function measuredPoint({x, cell, measured}: Row): Point | undefined {
  const {ratio_to_iid: y, ratio_low: low, ratio_high: high, exact_ratio} = measured
  if (y === null) return undefined
  const facts = [
    `norm ${significant(cell.norm)}, angle ${significant(cell.angle_deg)} degrees`,
    `over iid: ${withInterval(y, low, high)}`,
    ...(exact_ratio === null ? [] : [`closed form: ${significant(exact_ratio)}`]),
  ]
  return {x, y, low, high, facts}
}

function exactPoint({x, measured: {exact_ratio: y}}: Row): Point | undefined {
  return y === null ? undefined : {x, y, facts: []}
}

function columnsOf(variable: Variable): ColumnSpec<Row>[] {
  return [
    {title: 'method', align: 'left', cell: ({cell}) => methodLabel(cell)},
    {title: 'projection', align: 'left', cell: ({measured}) => measured.projection},
    {title: variable.label, cell: ({x}) => significant(x)},
    {
      title: 'over iid',
      cell: ({measured: {ratio_to_iid, ratio_low, ratio_high, withheld}}) =>
        ratio_to_iid === null && withheld !== null
          ? withheld
          : withInterval(ratio_to_iid, ratio_low, ratio_high),
    },
    {
      title: 'closed form',
      cell: ({measured}) => significant(measured.exact_ratio),
      tells: ({measured}) => measured.exact_ratio !== null,
    },
  ]
}
