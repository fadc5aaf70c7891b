/** Lines of errors over a variable, measured and predicted, and what they are compared with: a law, and the error of averaging V. */
import type {Guide, Point, Series} from '../../../report/figures/figure.js'
import {groupBy, spanOf} from '../../../report/groups.js'
import {plural, significant, withInterval} from '../../../report/numbers.js'
import {variantLabel} from '../../labels.js'
import {type CompletedSweep, type ErrorSweepCell, replicatesOf} from '../schema.js'
import {rowLabel} from './sections.js'

/** A variable that cells differ in, as an axis. */
export interface Variable {
  /** Of the figure's name. */
  name: string
  title: string
  label: string
  read(record: CompletedSweep): number | null
  /** What else of the cell differs along a line. */
  varied: keyof ErrorSweepCell
  /** Decimal logarithm of the error over that of the variable, where there is a law; drawn as a guide. */
  slope?: {label: string; exponent: number}
}

export const FEATURES: Variable = {
  name: 'error-over-features',
  title: 'Error over the number of random vectors',
  label: 'random vectors M',
  read: ({cell}) => cell.num_features,
  varied: 'num_features',
  slope: {label: 'slope -1/2', exponent: -1 / 2},
}
export const NORM: Variable = {
  name: 'error-over-norm',
  title: 'Error over the norm of queries and keys',
  label: 'E|x|^2, canonical queries',
  read: ({result}) => result.statistics.query_norm2,
  varied: 'scale',
}
export const VARIABLES: readonly Variable[] = [
  FEATURES,
  {
    name: 'error-over-length',
    title: 'Error over length',
    label: 'queries L',
    read: ({result}) => result.query_len,
    varied: 'seq_len',
  },
  NORM,
]

/** The smallest and the largest value of a variable. */
export type Span = readonly [from: number, to: number]

/**
 * A line for each variant.
 *
 * @param predicted - what theory says of it in place of what was measured; none of a variant that it does not know
 */
export function linesOf(
  variable: Variable,
  records: readonly CompletedSweep[],
  span: Span,
  predicted = false,
): Series[] {
  return groupBy(records, record => labelOf(variable, record)).flatMap(own => {
    const {method, projection} = own[0]!.cell
    const points = own
      .flatMap(record => pointsOf(variable, record, span, predicted))
      .toSorted((a, b) => a.x - b.x)
    if (points.length === 0) return []
    const label = labelOf(variable, own[0]!)
    if (!predicted) return [{label, method, projection, points}]
    return [{label: predictedLabel(label), method, projection, points, computed: true}]
  })
}

/** One point; of a method without random vectors a level over all numbers of them. */
function pointsOf(
  variable: Variable,
  record: CompletedSweep,
  span: Span,
  predicted: boolean,
): Point[] {
  const {rel_l2, predicted_rel_l2} = record.result
  const x = variable.read(record)
  const y = predicted ? predicted_rel_l2 : rel_l2.median
  if (y === null) return []
  const {low, high} = rel_l2
  return (x === null ? span : [x]).map(at =>
    predicted ? {x: at, y, facts: []} : {x: at, y, low, high, facts: factsOf(variable, record)},
  )
}

function factsOf(variable: Variable, record: CompletedSweep): string[] {
  const {cell, result} = record
  const {median, low, high} = result.rel_l2
  return [
    ...(cell.num_features === null ? [] : [`M = ${cell.num_features}`]),
    ...(variable === FEATURES ? [] : [`${variable.label}: ${significant(variable.read(record))}`]),
    `rel L2: ${withInterval(median, low, high)}`,
    `squared error over that of averaging V: ${significant(result.mse_over_mean_value)}`,
    `${plural(replicatesOf(record), 'replicate')}, seed ${cell.seed}`,
  ]
}

/** A variant, without M where that is the axis. */
export function labelOf(variable: Variable, record: CompletedSweep): string {
  return variable === FEATURES ? rowLabel(record) : variantLabel(record.cell)
}

function predictedLabel(label: string): string {
  return `${label}, predicted`
}

/** The records of a predicted line. @param records - of its figure */
export function recordsOf(
  line: Series,
  variable: Variable,
  records: readonly CompletedSweep[],
): CompletedSweep[] {
  return records.filter(record => predictedLabel(labelOf(variable, record)) === line.label)
}

/** What averaging V gets wrong at a place. */
export type Level = readonly [x: number, error: number]
const errorOf = ([, error]: Level) => error

/** The law through the middle of where the lines begin. */
export function slopeGuide({slope}: Variable, lines: readonly Series[], [from, to]: Span): Guide[] {
  if (!slope) return []
  const first = lines.flatMap(({points}) => (points[0]!.x === from ? [Math.log(points[0]!.y)] : []))
  if (first.length === 0) return []
  const start = Math.exp(first.reduce((sum, log) => sum + log, 0) / first.length)
  const end = start * (to / from) ** slope.exponent
  return [
    {
      label: slope.label,
      points: [
        [from, start],
        [to, end],
      ],
    },
  ]
}

/** The error of averaging V: a level, or a line over lengths and norms. */
export function averageGuide(levels: readonly Level[], [from, to]: Span): Guide[] {
  const [first] = levels
  if (first === undefined) return []
  const label = 'averaging V'
  const [low, high] = spanOf(levels.map(errorOf))
  if (high > 1.01 * low) return [{label, points: levels}]
  return [
    {
      label,
      points: [
        [from, low],
        [to, low],
      ],
    },
  ]
}

/** What averaging V gets wrong, by the variable; of one that it does not depend on all over its span. */
export function averages(
  variable: Variable,
  records: readonly CompletedSweep[],
  span: Span,
): Level[] {
  // rel L2 and MSE differ by a factor that all methods of an input share
  const places = records.flatMap(record => {
    const {rel_l2, mse, mean_value_mse} = record.result
    if (!rel_l2.median || !mse.median) return []
    const error = rel_l2.median * Math.sqrt(mean_value_mse / mse.median)
    const x = variable.read(record)
    return (x === null ? span : [x]).map(place => [place, error] as const)
  })
  const byPlace = new Map(places.toReversed())
  return [...byPlace].toSorted(([a], [b]) => a - b)
}
