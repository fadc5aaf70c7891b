/** Lines of errors over a variable, measured and predicted, and what they are compared with: a law, and the error of averaging V. */
import type {FeatureAxis, Guide, Point, Series} from '../../../../report/figures/figure.js'
import {groupBy, spanOf} from '../../../../report/groups.js'
import {plural, significant, withInterval} from '../../../../report/numbers.js'
import {variantLabel} from '../../../labels.js'
import {type CompletedSweep, type ErrorSweepCell, replicatesOf} from '../../schema.js'
import {rowLabel} from '../groups/sections.js'

/** A variable that cells differ in, as an axis. */
export interface Variable {
  /** Of the figure's name. */
  name: string
  title: string
  label: string
  read(record: CompletedSweep): number | null
  /** What else of the cell differs along a line. */
  varied: keyof ErrorSweepCell
  /** The law of errors over the variable, where there is one; drawn as a guide. */
  law?: {label: string; exponent: number}
  /** Whether lines of several scales of queries and keys stand side by side. Default: each scale has its own figure. */
  byScale?: boolean
}

const FEATURES: Variable = {
  name: 'error-over-features',
  title: 'Error over the number of random vectors',
  label: 'random vectors M',
  read: ({cell}) => cell.num_features,
  varied: 'num_features',
  law: {label: '1/sqrt(M)', exponent: -1 / 2},
}
/** The same over the length of the feature vector, which is what a method costs. */
const FEATURE_LENGTH: Variable = {
  ...FEATURES,
  title: 'Error over the length of the feature vector',
  label: 'length of the feature vector F',
  read: ({result}) => (result.feature_dim > 0 ? result.feature_dim : null),
  law: {label: '1/sqrt(F)', exponent: -1 / 2},
}
const NORM: Variable = {
  name: 'error-over-norm',
  title: 'Error over the norm of queries and keys',
  label: 'E|x|^2, canonical queries',
  read: ({result}) => result.statistics.query_norm2,
  varied: 'scale',
}
const LENGTH: Variable = {
  name: 'error-over-length',
  title: 'Error over length',
  label: 'queries L',
  read: ({result}) => result.query_len,
  varied: 'seq_len',
}

/** All variables. @param x - what stands for the number of features */
export function variablesWith(x: FeatureAxis): readonly Variable[] {
  return [x === 'F' ? FEATURE_LENGTH : FEATURES, LENGTH, NORM]
}

/** Whether errors are drawn over random vectors, or over what they make. */
export function isOfFeatures({varied}: Variable): boolean {
  return varied === 'num_features'
}

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
  return groupBy(records, record => lineOf(variable, record)).flatMap(own => {
    const {method, projection} = own[0]!.cell
    const points = own
      .flatMap(record => pointsOf(variable, record, span, predicted))
      .toSorted((a, b) => a.x - b.x)
    if (points.length === 0) return []
    const label = labelOf(variable, own[0]!)
    const look = {method, projection, ...scaleLook(variable, own[0]!, records)}
    if (!predicted) return [{label, ...look, points}]
    return [{label: `${label}, predicted`, ...look, points, computed: true}]
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
    ...(isOfFeatures(variable) ? [] : [`${variable.label}: ${significant(variable.read(record))}`]),
    `rel L2: ${withInterval(median, low, high)}`,
    `squared error over that of averaging V: ${significant(result.mse_over_mean_value)}`,
    `${plural(replicatesOf(record), 'replicate')}, seed ${cell.seed}`,
  ]
}

/** A variant, without M where that is the axis. */
function labelOf(variable: Variable, record: CompletedSweep): string {
  return isOfFeatures(variable) ? rowLabel(record) : variantLabel(record.cell)
}

/** What all records of a line have in common. */
export function lineOf(variable: Variable, record: CompletedSweep): string {
  return [labelOf(variable, record), ...(variable.byScale ? [record.cell.scale] : [])].join()
}

/** What a scale of queries and keys makes of their logits: `logits / 16`. */
function scaleText(scale: number): string {
  const factor = scale ** 2
  if (factor === 1) return 'logits unchanged'
  const text = (value: number) => String(Number(significant(value)))
  return factor < 1 ? `logits / ${text(1 / factor)}` : `logits x ${text(factor)}`
}

/** A note for each scale where lines are drawn at several, and a colour for it where they are of one method. */
function scaleLook(
  {byScale}: Variable,
  {cell}: CompletedSweep,
  records: readonly CompletedSweep[],
): Pick<Series, 'note' | 'colour'> {
  if (!byScale) return {}
  const isOne = new Set(records.map(record => record.cell.method)).size === 1
  return {
    note: scaleText(cell.scale),
    ...(isOne && {colour: scalesOf(records).indexOf(cell.scale) + 1}),
  }
}

/** Scales of queries and keys, the largest first. */
export function scalesOf(records: readonly CompletedSweep[]): number[] {
  return [...new Set(records.map(({cell}) => cell.scale))].sort((a, b) => b - a)
}

/** What averaging V gets wrong at a place. */
export type Level = readonly [x: number, error: number]
const errorOf = ([, error]: Level) => error

/** How far the law lies below all lines, and below the lowest error it ends. */
const [BELOW, END] = [1.3, 2]

/** The law below all lines, as far as it does not rule the axis. @param lines - measured */
export function lawGuide({law}: Variable, lines: readonly Series[], [from, to]: Span): Guide[] {
  if (!law) return []
  const points = lines.flatMap(line => line.points)
  if (points.length === 0) return []
  const factors = points.map(({x, y}) => y * (x / from) ** -law.exponent)
  const start = Math.min(...factors) / BELOW
  const lowest = Math.min(...points.map(({y}) => y)) / END
  const end = Math.min(to, from * (lowest / start) ** (1 / law.exponent))
  return [
    {
      label: law.label,
      points: [
        [from, start],
        [end, start * (end / from) ** law.exponent],
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
  const places = records.flatMap(record => {
    const error = averageError(record)
    if (error === undefined) return []
    const x = variable.read(record)
    return (x === null ? span : [x]).map(place => [place, error] as const)
  })
  const byPlace = new Map(places.toReversed())
  return [...byPlace].toSorted(([a], [b]) => a - b)
}

/** The relative error of averaging V on the input of a record; `undefined` for one without an error. */
export function averageError({result}: CompletedSweep): number | undefined {
  const {rel_l2, mse, mean_value_mse} = result
  if (!rel_l2.median || !mse.median) return undefined
  // rel L2 and MSE differ by a factor that all methods of an input share
  return rel_l2.median * Math.sqrt(mean_value_mse / mse.median)
}
