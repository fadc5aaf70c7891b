/** A comparison as figures: ratios with their intervals, a line each. */
import {type ColumnSpec, table} from '../report/document.js'
import type {Figure, Point} from '../report/figures/figure.js'
import {groupBy} from '../report/groups.js'
import {significant, withInterval} from '../report/numbers.js'
import {capital} from '../report/words.js'
import type {ComparedRow, ComparisonFacts} from './schema.js'

/** Lines that can be read in one figure; tables have them all. */
const MOST = 60

/** One for each quantity. */
export function comparisonFigures({rows, limits}: ComparisonFacts): Figure[] {
  return groupBy(rows, ({quantity}) => quantity).flatMap(own => {
    const limit = limits.find(({quantity}) => quantity === own[0]!.quantity)
    return figureOf(own, limit?.percent)
  })
}

function figureOf(all: readonly ComparedRow[], limit: number | undefined): Figure[] {
  const shown = all.filter(({ratio}) => ratio !== null && ratio > 0).slice(0, MOST)
  if (shown.length === 0) return []
  const {quantity} = shown[0]!
  const names = shown.map(row => nameOf(row, shown))
  const left = all.length - shown.length
  return [
    {
      name: `comparison-${quantity}`,
      title: `${capital(quantity)}, B over A`,
      caption: `Beyond 1 B has more; bars are 95 % intervals${limit === undefined ? '' : `, the second line the limit of ${limit} %`}.${left > 0 ? ` ${left} more lines are in the table below.` : ''}`,
      x: {label: `${quantity}, B over A`, scale: 'log'},
      y: {label: 'cell', scale: 'linear', names},
      series: seriesOf(shown, names),
      guides: [1, ...(limit === undefined ? [] : [1 + limit / 100])].map(x => ({
        label: '',
        points: [
          [x, -0.5],
          [x, shown.length - 0.5],
        ],
      })),
      table: table(columns(shown), shown),
    },
  ]
}

/** A series for each method of B, so that colours say it. */
function seriesOf(rows: readonly ComparedRow[], names: readonly string[]): Figure['series'] {
  const placed = rows.map((row, y) => ({row, y}))
  const methodOf = ({row: {at}}: (typeof placed)[number]) =>
    (at.method ?? 'all').split(' / ').at(-1)!.split(' ')[0]!
  return groupBy(placed, methodOf).map(own => ({
    label: methodOf(own[0]!),
    method: methodOf(own[0]!),
    projection: null,
    joined: false,
    points: own.map(({row, y}) => pointOf(row, y, names[y]!)),
  }))
}

function pointOf(row: ComparedRow, y: number, name: string): Point {
  const {ratio, ratio_low: xLow, ratio_high: xHigh, p_value: p, answer} = row
  const facts = [
    name,
    `B over A: ${withInterval(ratio, xLow, xHigh)}`,
    ...(p === null ? [] : [`p = ${significant(p)}`]),
    answer.replaceAll('_', ' '),
  ]
  return {x: ratio!, xLow, xHigh, y, facts}
}

/** The name of a line among the others. */
function nameOf({at}: ComparedRow, all: readonly ComparedRow[]): string {
  const differing = Object.entries(at).filter(
    ([name, value]) => value !== '' && all.some(other => other.at[name] !== value),
  )
  const parts = differing.map(([name, value]) => (/^[A-Z]/.test(name) ? `${name}=${value}` : value))
  return parts.length > 0 ? parts.join(' ') : (at.method ?? 'the cell')
}

function columns(all: readonly ComparedRow[]): ColumnSpec<ComparedRow>[] {
  return [
    {title: 'cell', align: 'left', cell: row => nameOf(row, all)},
    {title: 'B over A', cell: row => withInterval(row.ratio, row.ratio_low, row.ratio_high)},
    {title: 'answer', align: 'left', cell: ({answer}) => answer.replaceAll('_', ' ')},
  ]
}
