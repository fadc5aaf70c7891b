/** What is drawn of claims: verdicts over what was expected, and the figures of papers. */
import {METHOD_NAMES, PROJECTION_NAMES} from '../../attention/names.js'
import {table} from '../../report/document.js'
import type {Axis, Figure, Point, Series} from '../../report/figures/figure.js'
import {groupBy} from '../../report/groups.js'
import {significant, withInterval} from '../../report/numbers.js'
import type {FigurePoint} from '../figures/figure.js'
import type {DrawnFigure} from '../figures/report.js'
import type {ClaimOutcome} from '../outcome.js'

/** A number with what is expected of it. */
interface Row {
  name: string
  verdict: string
  value: number
  low: number | null
  high: number | null
  expected: number
}

/** All numbers that theory or a paper gives as well, where there are two at least. */
export function claimsFigure(outcomes: readonly ClaimOutcome[]): Figure[] {
  const rows = outcomes.flatMap(rowsOf)
  if (rows.length < 2) return []
  return [
    {
      name: 'claims-over-expected',
      title: 'Numbers of claims over what theory or the paper says',
      caption: 'At 1 both agree; bars are 95 % intervals of measured numbers.',
      x: {label: 'measured over expected', scale: 'log'},
      y: {label: 'number', scale: 'linear', names: rows.map(({name}) => name)},
      series: [
        {
          label: 'measured',
          method: 'measured',
          projection: null,
          joined: false,
          points: rows.map(pointOf),
        },
      ],
      guides: [
        {
          label: '',
          points: [
            [1, -0.5],
            [1, rows.length - 0.5],
          ],
        },
      ],
      table: table<Row>(
        [
          {title: 'number', flexible: true, cell: ({name}) => name},
          {title: 'verdict', align: 'left', cell: ({verdict}) => verdict.replace('_', ' ')},
          {title: 'value', cell: ({value, low, high}) => withInterval(value, low, high)},
          {title: 'expected', cell: ({expected}) => significant(expected)},
        ],
        rows,
      ),
    },
  ]
}

function rowsOf({id, verdict, quantities}: ClaimOutcome): Row[] {
  return quantities.flatMap(({name, value, low, high, expected}) => {
    const known = value !== null && value > 0 && expected !== null && expected > 0
    return known ? [{name: `${id}: ${name}`, verdict, value, low, high, expected}] : []
  })
}

function pointOf({name, verdict, value, low, high, expected}: Row, y: number): Point {
  return {
    x: value / expected,
    y,
    xLow: low === null ? null : low / expected,
    xHigh: high === null ? null : high / expected,
    facts: [
      `${name} (${verdict.replace('_', ' ')})`,
      `measured: ${withInterval(value, low, high)}`,
      `expected: ${significant(expected)}`,
    ],
  }
}

/** Spans of more than this factor are drawn on logarithmic axes. */
const WIDE = 8

/** A figure of its points; one without values on two places of its axis has none. */
export function paperFigure(drawn: DrawnFigure): Figure[] {
  const {id, title, points, x, y, source} = drawn
  if (new Set(points.map(point => point.x)).size < 2) return []
  const curves = groupBy(points, ({series}) => series)
  const quoted = curves.flatMap(curve => quotedSeries(curve))
  return [
    {
      name: `paper-${id}`,
      title,
      caption: `After ${source}; bars are 95 % intervals${quoted.length > 0 ? ', open markers what the paper prints' : ''}.`,
      x: axisOf(
        x,
        points.map(point => point.x),
      ),
      y: axisOf(
        y,
        points.flatMap(point => [point.y ?? [], point.quoted ?? []].flat()),
      ),
      series: [...curves.map(curve => measuredSeries(curve)), ...quoted],
      guides: [],
      table: table<FigurePoint>(
        [
          {title: 'curve', flexible: true, cell: ({series}) => series},
          {title: x, cell: point => String(point.x)},
          {title: y, cell: ({y: value, low, high}) => withInterval(value, low, high)},
          {title: 'the paper', cell: ({quoted: value}) => significant(value), sparse: true},
        ],
        points,
      ),
    },
  ]
}

function axisOf(label: string, values: readonly number[]): Axis {
  const [low, high] = [Math.min(...values), Math.max(...values)]
  return {label, scale: low > 0 && high / low > WIDE ? 'log' : 'linear'}
}

/** A method in the name of a curve gives it its look, another curve has one of its name. */
function lookOf(name: string): Pick<Series, 'method' | 'projection'> {
  const words = name.split(/[\s,]+/)
  const known = METHOD_NAMES.filter(method => words.includes(method))
  const projection = PROJECTION_NAMES.find(one => words.includes(one)) ?? null
  return {method: known[0] ?? name, projection}
}

function measuredSeries(curve: readonly FigurePoint[]): Series {
  const {series} = curve[0]!
  const points = curve.flatMap(({x, y, low, high}): Point[] =>
    y === null ? [] : [{x, y, low, high, facts: [`${x}: ${withInterval(y, low, high)}`]}],
  )
  return {label: series, ...lookOf(series), points: points.toSorted((a, b) => a.x - b.x)}
}

function quotedSeries(curve: readonly FigurePoint[]): Series[] {
  const {series} = curve[0]!
  const points = curve.flatMap(({x, quoted}): Point[] =>
    quoted === null ? [] : [{x, y: quoted, facts: [`the paper at ${x}: ${significant(quoted)}`]}],
  )
  if (points.length === 0) return []
  return [{label: `${series}, the paper`, ...lookOf(series), points, joined: false, open: true}]
}
