/** Figures of training: scores over the size of the state and over pairs, losses and scores over steps and over time. */
import {table} from '../../../report/document.js'
import type {Figure, Series} from '../../../report/figures/figure.js'
import {groupBy} from '../../../report/groups.js'
import {significant} from '../../../report/numbers.js'
import {mean} from '../../../stats/index.js'
import type {TrainTask} from '../../../tasks/index.js'
import {methodLabel} from '../../labels.js'
import {asCalled} from '../guards.js'
import type {CurvePoint, TrainRecord} from '../schema.js'
import {type MethodRow, measureOf, methodRows} from './rows.js'
import {trainColumns} from './screen.js'
import {scoreText, taskText} from './texts.js'

const MOST_TASKS = 4

/** Of each task scores over the state, losses and scores over steps and over time; of several numbers of pairs, accuracy over them. */
export function trainFigures(records: readonly TrainRecord[]): Figure[] {
  const rows = methodRows(records.filter(record => record.status === 'completed'))
  const tasks = groupBy(rows, ({task}) => JSON.stringify(task)).slice(0, MOST_TASKS)
  return [
    ...overPairs(rows),
    ...tasks.flatMap(own => [
      ...overState(own),
      ...coursesOf(own[0]!.task).flatMap(course => [
        courseFigure(own, course, 'steps'),
        courseFigure(own, course, 'CPU s'),
      ]),
    ]),
  ]
}

function pointOf(row: MethodRow, x: number) {
  const {low, high} = row.interval
  const facts = [row.label, taskText(row.task), scoreText(row.task, row.mean)]
  return {x, y: row.mean, low: finite(low), high: finite(high), facts}
}

function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null
}

function seriesOf(
  label: string,
  rows: readonly MethodRow[],
  x: (row: MethodRow) => number,
): Series {
  const {cell} = rows[0]!.runs[0]!
  return {
    ...{label, method: cell.method, projection: cell.projection},
    points: rows.map(row => pointOf(row, x(row))).sort((a, b) => a.x - b.x),
  }
}

function overState(rows: readonly MethodRow[]): Figure[] {
  const own = rows.filter(({runs}) => runs[0]!.result.state_floats !== null)
  const {task} = rows[0]!
  const {title, rises} = measureOf(task)
  if (own.length === 0) return []
  return [
    {
      name: 'score-over-state',
      title: `What is learned with how large a state: ${taskText(task)}`,
      caption: `Test ${title}, mean over seeds with its 95 % interval, at the rate that validation chooses. The state of exact attention is that after a whole sequence.`,
      x: {label: 'state, numbers per layer', scale: 'log'},
      y: {label: title, scale: 'linear', ...(rises && {percent: true})},
      series: groupBy(own, row => variantOf(row, own)).map(group =>
        seriesOf(variantOf(group[0]!, own), group, ({runs}) => runs[0]!.result.state_floats!),
      ),
      guides: [],
      table: table(trainColumns(own), own),
    },
  ]
}

/** A method without M, which its points differ by. */
function variantOf({runs}: MethodRow, rows: readonly MethodRow[]): string {
  const {cell} = runs[0]!
  const cells = rows.map(row => row.runs[0]!.cell)
  const called = asCalled(cell, cells)
  return [methodLabel(called), ...(cell.projection === null ? [] : [cell.projection])].join(' ')
}

function overPairs(rows: readonly MethodRow[]): Figure[] {
  const own = rows.flatMap(row => (row.task.name === 'mqar' ? [{row, pairs: row.task.pairs}] : []))
  if (new Set(own.map(({pairs}) => pairs)).size < 2) return []
  const pairs = new Map(own.map(one => [one.row, one.pairs]))
  return [
    {
      name: 'accuracy-over-pairs',
      title: 'Recall over the number of pairs',
      caption:
        'Test accuracy, mean over seeds with its 95 % interval, at the rate that validation chooses.',
      x: {label: 'pairs', scale: 'log'},
      y: {label: 'accuracy', scale: 'linear', percent: true},
      series: groupBy(
        own.map(({row}) => row),
        ({label}) => label,
      ).map(group => seriesOf(group[0]!.label, group, row => pairs.get(row)!)),
      guides: [],
      table: table(
        trainColumns(rows),
        own.map(({row}) => row),
      ),
    },
  ]
}

/** What is drawn over the course of a run. */
interface Course {
  name: string
  title: string
  caption: string
  axis: Figure['y']
  of(point: CurvePoint): number | null
}

function coursesOf(task: TrainTask): Course[] {
  const {title, rises, of} = measureOf(task)
  return [
    {
      name: 'loss',
      title: 'Loss',
      caption: 'Mean loss of the steps since the last point',
      axis: {label: 'loss, nats', scale: 'linear'},
      of: ({loss}) => loss,
    },
    {
      name: 'score',
      title: `Validation ${title}`,
      caption: `${title} on the first sequences of validation`,
      axis: {label: title, scale: 'linear', ...(rises && {percent: true})},
      of: ({validation}) => of(validation),
    },
  ]
}

/** Means over the seeds, at the rate that validation chooses. */
function courseFigure(rows: readonly MethodRow[], course: Course, over: 'steps' | 'CPU s'): Figure {
  const {name, title, caption, axis} = course
  const series = rows.map(row => {
    const {cell} = row.runs[0]!
    return {
      ...{label: row.label, method: cell.method, projection: cell.projection},
      points: pointsOf(row, course).map(({step, seconds, value}) => ({
        x: over === 'steps' ? step : seconds,
        y: value,
        facts: [row.label, `after ${step} steps, ${significant(seconds)} s`, significant(value)],
      })),
    }
  })
  const points = series.flatMap(({label, points}) => points.map(({x, y}) => ({label, x, y})))
  return {
    name: `${name}-over-${over === 'steps' ? 'steps' : 'time'}`,
    title: `${title} over ${over === 'steps' ? 'steps' : 'processor time'}: ${taskText(rows[0]!.task)}`,
    caption: `${caption}, mean over seeds, at the rate that validation chooses.`,
    x: {label: over, scale: 'linear'},
    y: axis,
    series,
    guides: [],
    table: table(
      [
        {title: 'method', align: 'left', cell: ({label}) => label},
        {title: over, cell: ({x}) => significant(x)},
        {title: name, cell: ({y}) => significant(y)},
      ],
      points,
    ),
  }
}

/** Looks that all seeds have come to. */
function pointsOf({runs}: MethodRow, {of}: Course) {
  const [first] = runs
  return first!.result.curve.flatMap(({step}) => {
    const points = runs.flatMap(({result}) => result.curve.find(point => point.step === step) ?? [])
    const values = points.flatMap(point => of(point) ?? [])
    if (values.length < runs.length) return []
    return [{step, seconds: mean(points.map(point => point.cpu_seconds)), value: mean(values)}]
  })
}
