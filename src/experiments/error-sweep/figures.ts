/** Figures of an error sweep: errors over the number of features, over length and over norm, each variant a line. */
import {type ColumnSpec, table} from '../../report/document.js'
import type {Figure, Guide, Point, Series} from '../../report/figures/figure.js'
import {spanOf} from '../../report/figures/span.js'
import {groupBy} from '../../report/groups.js'
import {plural, significant, withInterval} from '../../report/numbers.js'
import {heightAt, passesOne} from '../../stats/index.js'
import {inputLabel, methodLabel, projectionLabel, variantLabel} from '../labels.js'
import {headsFigures} from './heads-figure.js'
import type {CompletedSweep, ErrorSweepCell, ErrorSweepRecord} from './schema.js'
import {turningPoints} from './turning-points.js'

/** A variable that cells differ in, as an axis. */
interface Variable {
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

const FEATURES: Variable = {
  name: 'error-over-features',
  title: 'Error over the number of random vectors',
  label: 'random vectors M',
  read: ({cell}) => cell.num_features,
  varied: 'num_features',
  slope: {label: 'slope -1/2', exponent: -1 / 2},
}
const VARIABLES: readonly Variable[] = [
  FEATURES,
  {
    name: 'error-over-length',
    title: 'Error over length',
    label: 'queries L',
    read: ({result}) => result.query_len,
    varied: 'seq_len',
  },
  {
    name: 'error-over-norm',
    title: 'Error over the norm of queries and keys',
    label: 'E|x|^2, canonical queries',
    read: ({result}) => result.statistics.query_norm2,
    varied: 'scale',
  },
]

/** The smallest and the largest value of a variable. */
type Span = readonly [from: number, to: number]

/** Facts of a cell that are the same all over a figure; a line may differ in the other ones. */
const SHARED = ['input', 'layer', 'seq_len', 'scale', 'logit_scale', 'causal', 'target'] as const

/** Figures of a whole sweep; none of what has but one value. */
export function errorSweepFigures(all: readonly ErrorSweepRecord[]): Figure[] {
  const records = all.filter(record => record.status === 'completed').filter(isEstimate)
  const lines = VARIABLES.flatMap(variable => {
    const shared = SHARED.filter(field => field !== variable.varied)
    const groups = groupBy(records, ({cell}) => JSON.stringify(shared.map(field => cell[field])))
    return groups.flatMap(group => figureOf(variable, group))
  })
  return [...lines, ...headsFigures(records)]
}

/** Errors below are those of rounding, and would leave no room for the others. */
const ROUNDING = 1e-5

function isEstimate({result: {rel_l2}}: CompletedSweep): boolean {
  return rel_l2.median === null || rel_l2.median > ROUNDING
}

function figureOf(variable: Variable, records: readonly CompletedSweep[]): Figure[] {
  const shown = variable === FEATURES ? records : atLargestFeatures(records)
  const values = new Set(shown.flatMap(record => variable.read(record) ?? []))
  if (values.size < 2) return []
  const span = spanOf(values)
  const levels = averages(variable, shown, span)
  const measured = linesOf(variable, shown, span)
  const theory = linesOf(variable, shown, span, true)
  const turns = variable.slope ? [] : turningPoints(theory)
  const predicted = theory.map(line => {
    const crossings = [
      ...turns.flatMap(turn => (turn.line === line ? [turn.point] : [])),
      ...worseFrom(line, levels, variable),
    ]
    return crossings.length > 0 ? {...line, crossings} : line
  })
  return [
    {
      name: variable.name,
      title: [variable.title, ...placeOf(variable, records[0]!)].join(', '),
      caption: captionOf(predicted),
      x: {label: variable.label, scale: 'log'},
      y: {label: 'rel L2', scale: 'log'},
      series: [...measured, ...predicted],
      guides: [...slopeGuide(variable, measured, span), ...averageGuide(levels, span)],
      table: pointTable(variable, shown),
    },
  ]
}

function captionOf(predicted: readonly Series[]): string {
  const facts = [
    'Median of |estimate - exact| / |exact| over draws; bars are its 95 % interval',
    ...(predicted.length > 0 ? ['broad pale lines what theory predicts of the input'] : []),
    ...(predicted.some(({crossings}) => crossings)
      ? [
          'rings where by it another method gets the least error, or one gets worse than averaging V',
        ]
      : []),
  ]
  return `${facts.join(', ')}.`
}

/** Errors fall with features: of other variables those at the most are shown. */
function atLargestFeatures(records: readonly CompletedSweep[]): CompletedSweep[] {
  const [, most] = spanOf(records.map(({cell}) => cell.num_features ?? 0))
  return records.filter(({cell}) => (cell.num_features ?? most) === most)
}

/** What all points of a figure share, in words. */
function placeOf(variable: Variable, {cell, result}: CompletedSweep): string[] {
  const {input, layer, target, causal, scale} = cell
  return [
    inputLabel(input),
    ...(layer === undefined ? [] : [`layer ${layer}`]),
    ...(variable.varied === 'seq_len' ? [] : [`L=${result.query_len}`]),
    ...(scale === 1 || variable.varied === 'scale' ? [] : [`q and k times ${significant(scale)}`]),
    ...(causal ? ['causal'] : []),
    ...(target === 'raw' ? [] : ['against what each converges to']),
  ]
}

function linesOf(
  variable: Variable,
  records: readonly CompletedSweep[],
  span: Span,
  predicted = false,
): Series[] {
  const labelOf = ({cell}: CompletedSweep) =>
    variable === FEATURES ? variantLabel({...cell, num_features: null}) : variantLabel(cell)
  return groupBy(records, labelOf).flatMap(own => {
    const {method, projection} = own[0]!.cell
    const points = own
      .flatMap(record => pointsOf(variable, record, span, predicted))
      .toSorted((a, b) => a.x - b.x)
    if (points.length === 0) return []
    const label = labelOf(own[0]!)
    if (predicted)
      return [{label: `${label}, predicted`, method, projection, points, computed: true}]
    return [{label, method, projection, points}]
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
    `${plural(result.replicates_run ?? cell.replicates, 'replicate')}, seed ${cell.seed}`,
  ]
}

/** The law through the middle of where the lines begin. */
function slopeGuide({slope}: Variable, lines: readonly Series[], [from, to]: Span): Guide[] {
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
function averageGuide(levels: readonly Place[], [from, to]: Span): Guide[] {
  const [first] = levels
  if (first === undefined) return []
  const label = 'averaging V'
  const [low, high] = spanOf(levels.map(at))
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

type Place = readonly [x: number, error: number]
const at = ([, error]: Place) => error

/** What averaging V gets wrong, by the variable; of one that it does not depend on all over its span. */
function averages(variable: Variable, records: readonly CompletedSweep[], span: Span): Place[] {
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

/** Where a line that theory predicts passes the error of averaging V upwards. */
function worseFrom(line: Series, levels: readonly Place[], {label}: Variable): Point[] {
  const known = new Map(levels)
  const gains = line.points.flatMap(({x, y}) => {
    const level = known.get(x)
    return level === undefined ? [] : [{x, y, gain: y / level}]
  })
  return gains.slice(1).flatMap((to, before) => {
    const from = gains[before]!
    if (!(from.gain < 1 && to.gain >= 1)) return []
    const x = passesOne([
      {x: from.x, y: from.gain},
      {x: to.x, y: to.gain},
    ])
    const y = heightAt([from, to], x)
    return [
      {x, y, facts: [`worse than averaging V from ${significant(x)} on (${label}), by theory`]},
    ]
  })
}

function pointTable(variable: Variable, records: readonly CompletedSweep[]) {
  const columns: ColumnSpec<CompletedSweep>[] = [
    {title: 'method', align: 'left', cell: ({cell}) => methodLabel(cell)},
    {
      title: 'projection',
      align: 'left',
      cell: ({cell}) => projectionLabel(cell) ?? '-',
      tells: ({cell}) => cell.projection !== null,
    },
    {
      title: 'M',
      cell: ({cell}) => String(cell.num_features ?? '-'),
      tells: ({cell}) => cell.num_features !== null,
    },
    ...(variable === FEATURES
      ? []
      : [
          {
            title: variable.label,
            cell: (record: CompletedSweep) => significant(variable.read(record)),
          },
        ]),
    {
      title: 'rel L2',
      cell: ({result: {rel_l2}}) => withInterval(rel_l2.median, rel_l2.low, rel_l2.high),
    },
    {
      title: 'predicted',
      cell: ({result}) => significant(result.predicted_rel_l2),
      tells: ({result}) => result.predicted_rel_l2 !== null,
    },
  ]
  return table(columns, records)
}
