/** Figures of a variance experiment: variances over those of i.i.d. rows, with their closed forms. */

import {type ColumnSpec, table} from '../../../report/document.js'
import type {Figure, Point, Series} from '../../../report/figures/figure.js'
import {groupBy, spanOf} from '../../../report/groups.js'
import {plural, significant, withInterval} from '../../../report/numbers.js'
import {methodLabel} from '../../labels.js'
import {angleText, pairText, rowsText} from '../pair-text.js'
import type {CompletedVariance, VarianceCell, VarianceRecord} from '../schema.js'

/** Figures that pages show: experiments may have any number of norms. */
const MOST = 6

/** One projection of a cell. */
interface Row {
  record: CompletedVariance
  own: CompletedVariance['result']['per_projection'][number]
}

/** Ratios over the angle, or over the difference: one figure for each norm or sum, of the largest M. */
export function varianceFigures(records: readonly VarianceRecord[]): Figure[] {
  const completed = records.filter(record => record.status === 'completed')
  const [, most] = spanOf(completed.map(({cell}) => cell.num_features))
  const shown = completed.filter(({cell}) => cell.num_features === most)
  const figures = groupBy(shown, ({cell}) => placeOf(cell).join()).flatMap(figureOf)
  const left = figures.length - MOST
  if (left <= 0) return figures
  // said where one looks for more
  const note = `${plural(left, 'figure')} more like these ${left === 1 ? 'is' : 'are'} not drawn; the tables have all pairs.`
  return figures
    .slice(0, MOST)
    .map((figure, at) =>
      at === MOST - 1 ? {...figure, caption: `${figure.caption} ${note}`} : figure,
    )
}

/** What all pairs of a figure share, in words. */
function placeOf(cell: VarianceCell): string[] {
  const {head_dim: D, num_features: M, sum_norm: sum, head, norm, key_norm: key} = cell
  const sizes = [`D=${D}`, `M=${M}`]
  if (head !== undefined) return ['pairs of an input', ...sizes]
  if (sum !== undefined) return [`|x+y| = ${significant(sum)}`, ...sizes]
  const norms = key === undefined ? `|x| = |y| = ${norm}` : `|x| = ${norm}, |y| = ${key}`
  return [norms, ...sizes]
}

function figureOf(records: readonly CompletedVariance[]): Figure[] {
  const rows = records.flatMap(record => record.result.per_projection.map(own => ({record, own})))
  const compared = rows.filter(({own}) => own.ratio_to_iid !== null || own.exact_ratio !== null)
  if (new Set(compared.map(({record}) => xOf(record))).size < 2) return []
  const {cell} = compared[0]!.record
  const lines = groupBy(compared, labelOf)
  const measured = lines.map(line => seriesOf(line, 'ratio_to_iid'))
  // no line goes through pairs of an input
  const exact = cell.head === undefined ? lines.map(line => seriesOf(line, 'exact_ratio')) : []
  return [
    {
      name: 'variance-ratio',
      title: `Variance over that of i.i.d. rows, ${placeOf(cell).join(', ')}`,
      caption: `Of kernel estimates at the same M; bars are 95 % intervals${exact.some(({points}) => points.length > 0) ? ', broad pale lines closed forms' : ''}. Below 1 a projection is better than i.i.d. rows.`,
      x: {label: cell.difference_norm === undefined ? 'angle, degrees' : '|x-y|', scale: 'linear'},
      y: {label: 'variance over that of iid', scale: 'log'},
      series: [...measured, ...exact].filter(({points}) => points.length > 0),
      computed: 'closed form',
      guides: [{label: 'iid', points: ends(compared.map(({record}) => xOf(record)))}],
      table: table(COLUMNS, compared),
    },
  ]
}

function ends(values: readonly number[]): [number, number][] {
  const [low, high] = spanOf(values)
  return [
    [low, 1],
    [high, 1],
  ]
}

function xOf({cell}: CompletedVariance): number {
  return cell.difference_norm ?? cell.angle_deg
}

function labelOf({record: {cell}, own}: Row): string {
  return `${methodLabel(cell)} ${rowsText(own)}`
}

/** A line of measured ratios, or of exact ones; points of an input lie on none. */
function seriesOf(rows: readonly Row[], kind: 'ratio_to_iid' | 'exact_ratio'): Series {
  const [{record, own}] = rows as readonly [Row]
  const computed = kind === 'exact_ratio'
  const points = rows.flatMap(row => pointOf(row, kind)).toSorted((a, b) => a.x - b.x)
  return {
    label: computed ? `${labelOf(rows[0]!)}, closed form` : labelOf(rows[0]!),
    method: record.cell.method,
    projection: own.projection,
    points,
    joined: record.cell.head === undefined,
    ...(computed && {computed}),
  }
}

function pointOf({record, own}: Row, kind: 'ratio_to_iid' | 'exact_ratio'): Point[] {
  const y = own[kind]
  if (y === null) return []
  const x = xOf(record)
  if (kind === 'exact_ratio') return [{x, y, facts: []}]
  const {ratio_low: low, ratio_high: high, exact_ratio: exact} = own
  const facts = [
    pairText(record.cell),
    `variance over that of iid: ${withInterval(y, low, high)}`,
    ...(exact === null ? [] : [`closed form: ${significant(exact)}`]),
  ]
  return [{x, y, low, high, facts}]
}

const COLUMNS: readonly ColumnSpec<Row>[] = [
  {title: 'method', align: 'left', cell: ({record: {cell}}) => methodLabel(cell)},
  {
    title: 'projection',
    align: 'left',
    cell: ({own}) => rowsText(own),
  },
  {title: 'angle', cell: ({record: {cell}}) => angleText(cell)},
  {
    title: '|x-y|',
    cell: ({record: {cell}}) => significant(cell.difference_norm),
    tells: ({record: {cell}}) => cell.difference_norm !== undefined,
  },
  {
    title: 'over iid',
    cell: ({own}) => withInterval(own.ratio_to_iid, own.ratio_low, own.ratio_high),
  },
  {
    title: 'closed form',
    cell: ({own}) => significant(own.exact_ratio),
    tells: ({own}) => own.exact_ratio !== null,
  },
]
