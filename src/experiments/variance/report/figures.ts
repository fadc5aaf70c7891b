/** Figures of a variance experiment: variances over those of i.i.d. rows, with their closed forms. */

import {type ColumnSpec, table} from '../../../report/document.js'
import type {Figure, Point, Series} from '../../../report/figures/figure.js'
import {groupBy, spanOf} from '../../../report/groups.js'
import {plural, significant, withInterval} from '../../../report/numbers.js'
import {methodLabel} from '../../labels.js'
import {angleText, normText, pairText, rowsText} from '../pair-text.js'
import type {CompletedVariance, VarianceCell, VarianceRecord} from '../schema.js'

/** Figures that pages show: experiments may have any number of norms. */
const MOST = 6

/** One projection of a cell. */
interface Row {
  record: CompletedVariance
  own: CompletedVariance['result']['per_projection'][number]
}

/**
 * Ratios over the angle, or over the difference, one figure for each norm or sum; and over the norm, at the least angle. Of the
 * largest M.
 */
export function varianceFigures(records: readonly VarianceRecord[]): Figure[] {
  const completed = records.filter(record => record.status === 'completed')
  const [, most] = spanOf(completed.map(({cell}) => cell.num_features))
  const shown = completed.filter(({cell}) => cell.num_features === most)
  const figures = groupBy(shown, ({cell}) => placeOf(cell).join()).flatMap(own =>
    figureOf(own, axisOf(own)),
  )
  return [...firstOnes(figures), ...overNorms(shown)]
}

/** Not more than a page shows, with a note of the others where one looks for them. */
function firstOnes(figures: readonly Figure[]): Figure[] {
  const left = figures.length - MOST
  if (left <= 0) return [...figures]
  const note = `${plural(left, 'figure')} more like these ${left === 1 ? 'is' : 'are'} not drawn; the tables have all pairs.`
  return figures
    .slice(0, MOST)
    .map((figure, at) =>
      at === MOST - 1 ? {...figure, caption: `${figure.caption} ${note}`} : figure,
    )
}

/** One figure for each D, of pairs of equal norms at the least angle. */
function overNorms(records: readonly CompletedVariance[]): Figure[] {
  const equal = records.filter(
    ({cell: {key_norm, sum_norm, head}}) => (key_norm ?? sum_norm ?? head) === undefined,
  )
  const [least] = spanOf(equal.map(({cell}) => cell.angle_deg))
  const shown = equal.filter(({cell}) => cell.angle_deg === least)
  return groupBy(shown, ({cell}) => `${cell.head_dim}`).flatMap(own =>
    figureOf(own, {
      ...{label: 'norm |x| = |y|', of: ({cell}) => cell.norm, least: FEWEST_NORMS},
      place: ({head_dim, num_features}) => [
        `angle ${least} degrees`,
        `D=${head_dim}`,
        `M=${num_features}`,
      ],
    }),
  )
}

/** Two norms make no curve. */
const FEWEST_NORMS = 3

interface Axis {
  label: string
  of(record: CompletedVariance): number
  /** Fewest values that are drawn. */
  least: number
  /** What all pairs share, in words. */
  place(cell: VarianceCell): string[]
}

/** The angle, or the difference. */
function axisOf([record]: readonly CompletedVariance[]): Axis {
  const label = record?.cell.difference_norm === undefined ? 'angle, degrees' : '|x-y|'
  return {label, least: 2, of: ({cell}) => cell.difference_norm ?? cell.angle_deg, place: placeOf}
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

function figureOf(records: readonly CompletedVariance[], axis: Axis): Figure[] {
  const rows = records.flatMap(record => record.result.per_projection.map(own => ({record, own})))
  const compared = rows.filter(({own}) => own.ratio_to_iid !== null || own.exact_ratio !== null)
  if (new Set(compared.map(({record}) => axis.of(record))).size < axis.least) return []
  const {cell} = compared[0]!.record
  const lines = groupBy(compared, labelOf)
  const measured = lines.map(line => seriesOf(line, 'ratio_to_iid', axis))
  // no line goes through pairs of an input
  const exact =
    cell.head === undefined ? lines.map(line => seriesOf(line, 'exact_ratio', axis)) : []
  return [
    {
      name: 'variance-ratio',
      title: `Variance over that of i.i.d. rows, ${axis.place(cell).join(', ')}`,
      caption: `Of kernel estimates at the same M; bars are 95 % intervals${exact.some(({points}) => points.length > 0) ? ', broad pale lines closed forms' : ''}. Below 1 a projection is better than i.i.d. rows.`,
      x: {label: axis.label, scale: 'linear'},
      y: {label: 'variance over that of iid', scale: 'log'},
      series: [...measured, ...exact].filter(({points}) => points.length > 0),
      computed: 'closed form',
      guides: [{label: 'iid', points: ends(compared.map(({record}) => axis.of(record)))}],
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

function labelOf({record: {cell}, own}: Row): string {
  return `${methodLabel(cell)} ${rowsText(own)}`
}

/** A line of measured ratios, or of exact ones; points of an input lie on none. */
function seriesOf(rows: readonly Row[], kind: 'ratio_to_iid' | 'exact_ratio', axis: Axis): Series {
  const [{record, own}] = rows as readonly [Row]
  const computed = kind === 'exact_ratio'
  const points = rows.flatMap(row => pointOf(row, kind, axis)).toSorted((a, b) => a.x - b.x)
  return {
    label: computed ? `${labelOf(rows[0]!)}, closed form` : labelOf(rows[0]!),
    method: record.cell.method,
    projection: own.projection,
    points,
    joined: record.cell.head === undefined,
    ...(computed && {computed}),
  }
}

function pointOf({record, own}: Row, kind: 'ratio_to_iid' | 'exact_ratio', axis: Axis): Point[] {
  const y = own[kind]
  if (y === null) return []
  const x = axis.of(record)
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
  {title: 'projection', align: 'left', cell: ({own}) => rowsText(own)},
  {title: 'norm', cell: ({record: {cell}}) => normText(cell)},
  {title: 'angle', cell: ({record: {cell}}) => angleText(cell)},
  {title: '|x-y|', cell: ({record: {cell}}) => significant(cell.difference_norm), sparse: true},
  {
    title: 'over iid',
    cell: ({own}) => withInterval(own.ratio_to_iid, own.ratio_low, own.ratio_high),
  },
  {title: 'closed form', cell: ({own}) => significant(own.exact_ratio), sparse: true},
]
