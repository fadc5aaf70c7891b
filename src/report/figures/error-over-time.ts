/** The figure that methods are chosen by: error over measured time. */
import {paretoFront} from '../../stats/index.js'
import {groupBy, spanOf} from '../groups.js'
import type {TableBlock} from '../table.js'
import type {Axis, Figure, Guide, Point, Series} from './figure.js'

export interface TimedError {
  method: string
  projection: string | null
  error: number
  errorLow: number | null
  errorHigh: number | null
  /** Of a call. */
  ms: number
  msLow: number | null
  msHigh: number | null
  /** What it is, a line each. */
  facts: readonly string[]
}

export interface ErrorOverTime {
  title: string
  /** Of the axis of errors. */
  error: Pick<Axis, 'label' | 'percent' | 'limit'>
  points: readonly TimedError[]
  /** Exact forms, which have no error. */
  exact: readonly {form: string; ms: number}[]
  /** Errors to compare with, such as a tolerance. */
  levels: readonly {label: string; error: number}[]
  table: TableBlock
}

const CAPTION =
  'Each method at each M; bars are 95 % intervals. The dotted line joins the points that no other one beats in both; upright lines are exact forms.'

/** The figure; none of fewer than two points. */
export function errorOverTime({
  title,
  error,
  points,
  exact,
  levels,
  table,
}: ErrorOverTime): Figure[] {
  if (points.length < 2) return []
  const ends = points.flatMap(({msLow, msHigh}) => [msLow ?? [], msHigh ?? []].flat())
  const times = spanOf([...ends, ...[...points, ...exact].map(({ms}) => ms)])
  const errors = spanOf([...points, ...levels].map(one => one.error))
  const lines = groupBy(points, ({method, projection}) => `${method} ${projection}`)
  return [
    {
      name: 'error-over-time',
      title,
      caption: CAPTION,
      x: {label: 'time of a call, ms', scale: 'log'},
      y: {...error, scale: 'log'},
      series: lines.map(seriesOf),
      guides: [
        ...frontLine(points),
        ...levels.map(({label, error: y}) => lineOf(label, [times[0], y], [times[1], y])),
        ...exact.map(({form, ms}) => lineOf(form, [ms, errors[0]], [ms, errors[1]])),
      ],
      table,
    },
  ]
}

function lineOf(
  label: string,
  from: readonly [number, number],
  to: readonly [number, number],
): Guide {
  return {label, points: [from, to]}
}

function seriesOf(own: readonly TimedError[]): Series {
  const {method, projection} = own[0]!
  return {
    label: [method, projection ?? []].flat().join(' '),
    method,
    projection,
    points: own.map(pointOf).toSorted((a, b) => a.x - b.x),
    joined: false,
  }
}

function pointOf({error, errorLow, errorHigh, ms, msLow, msHigh, facts}: TimedError): Point {
  return {
    ...{x: ms, xLow: msLow, xHigh: msHigh},
    ...{y: error, low: errorLow, high: errorHigh, facts},
  }
}

/** Through points that no other one beats in error and in time. */
function frontLine(points: readonly TimedError[]): Guide[] {
  const front = paretoFront(points, ({error, ms}) => [error, ms])
  if (front.length < 2) return []
  const best = front.toSorted((a, b) => a.ms - b.ms)
  return [{label: 'front', points: best.map(({ms, error}) => [ms, error] as const)}]
}
