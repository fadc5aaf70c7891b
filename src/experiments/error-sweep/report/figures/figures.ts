/** Figures of an error sweep: errors over the number of features, over length and over norm, each variant a line. */

import {type ColumnSpec, table} from '../../../../report/document.js'
import {evenly} from '../../../../report/evenly.js'
import {alongAxis, stretchesFor} from '../../../../report/figures/along-axis.js'
import type {FeatureAxis, Figure, Guide, Series} from '../../../../report/figures/figure.js'
import {groupBy, spanOf} from '../../../../report/groups.js'
import {significant, withInterval} from '../../../../report/numbers.js'
import {YARDSTICK} from '../../../averaging.js'
import type {CompletedSweep, ErrorSweepRecord} from '../../schema.js'
import {lowestError, type Ranking, rankingsWith} from '../errors/ranking.js'
import {placeFacts} from '../groups/places.js'
import {VARIANT_COLUMNS} from '../tables/columns.js'
import {positionFigures} from '../tables/positions.js'
import {
  averageGuide,
  averages,
  isOfFeatures,
  lawGuide,
  lineOf,
  linesOf,
  type Span,
  scalesOf,
  type Variable,
  variablesWith,
} from './figure-lines.js'
import {headsFigures, layersFigures} from './heads-figure.js'

/** Facts of a cell that are the same all over a figure; a line may differ in the other ones. */
const SHARED = ['input', 'layer', 'seq_len', 'scale', 'logit_scale', 'causal', 'target'] as const

/** Figures over one variable, evenly chosen, points of each, and rows of its table. */
const [MOST_FIGURES, MOST_POINTS, MOST_ROWS] = [12, 2000, 1000]

/** Most lines of several scales in one figure. */
const MOST_LINES = 6

/**
 * Figures of a whole sweep; none of what has but one value.
 *
 * @param x - what stands for the number of features. Default: M
 */
export function errorSweepFigures(
  all: readonly ErrorSweepRecord[],
  x: FeatureAxis = 'M',
): Figure[] {
  const completed = all.filter(record => record.status === 'completed')
  const records = completed.filter(isEstimate)
  const lines = variablesWith(x).flatMap(variable => {
    const figures = figuresOver(variable, records).filter(own =>
      hasTwoValues(own.variable, own.records),
    )
    return evenly(figures, MOST_FIGURES).map(own =>
      figureOf(own.variable, own.records, {count: figures.length, completed}),
    )
  })
  return [
    ...lines,
    ...positionFigures(records),
    ...layersFigures(records),
    ...headsFigures(records),
  ]
}

interface Drawn {
  variable: Variable
  records: readonly CompletedSweep[]
}

/** Figures over a variable: each of records that differ in it alone, or over features in a few scales, too. */
function figuresOver(variable: Variable, records: readonly CompletedSweep[]): Drawn[] {
  const groupsBy = (fields: readonly (typeof SHARED)[number][], of: readonly CompletedSweep[]) =>
    groupBy(of, ({cell}) => JSON.stringify(fields.map(field => cell[field])))
  const shared = SHARED.filter(field => field !== variable.varied)
  if (!isOfFeatures(variable))
    return groupsBy(shared, records).map(own => ({variable, records: own}))
  const scaled = shared.filter(field => field !== 'scale')
  return groupsBy(scaled, records).flatMap((together): Drawn[] => {
    const byScale = {...variable, byScale: true}
    const lines = new Set(together.filter(isLine).map(record => lineOf(byScale, record)))
    if (scalesOf(together).length > 1 && lines.size <= MOST_LINES) {
      return [{variable: byScale, records: together}]
    }
    return groupsBy(shared, together).map(own => ({variable, records: own}))
  })
}

/** Averaging V is not a separate line: all are compared with it. */
function isLine({cell}: CompletedSweep): boolean {
  return cell.method !== YARDSTICK
}

/** Errors below come from rounding, and would leave no room for the others. */
const ROUNDING = 1e-5

function isEstimate({result: {rel_l2}}: CompletedSweep): boolean {
  return rel_l2.median === null || rel_l2.median > ROUNDING
}

function hasTwoValues(variable: Variable, records: readonly CompletedSweep[]): boolean {
  const [low, high] = spanOf(valuesOf(variable, recordsFor(variable, records)))
  return low < high
}

/** Errors fall with features: of other variables those at the most are shown. */
function recordsFor(
  variable: Variable,
  records: readonly CompletedSweep[],
): readonly CompletedSweep[] {
  return isOfFeatures(variable) ? records : atMostFeatures(records)
}

function valuesOf(variable: Variable, records: readonly CompletedSweep[]): number[] {
  return records.flatMap(record => variable.read(record) ?? [])
}

/** What figures of one variable have in common. */
interface Figures {
  /** How many there could be. */
  count: number
  /** All records of the sweep. */
  completed: readonly CompletedSweep[]
}

function figureOf(
  variable: Variable,
  records: readonly CompletedSweep[],
  {count, completed}: Figures,
): Figure {
  const all = recordsFor(variable, records)
  const span = spanOf(valuesOf(variable, all))
  const shown = thinnedBy(variable, all, span)
  const compared = variable.byScale
    ? scalesOf(shown).map(scale => shown.filter(({cell}) => cell.scale === scale))
    : [shown]
  const levels = compared.map(own => averages(variable, own, span))
  const drawn = shown.filter(isLine)
  const measured = linesOf(variable, drawn, span)
  const predicted = linesOf(variable, drawn, span, true)
  const guides = levels.flatMap(own => averageGuide(own, span))
  const limit = limitOf(measured, guides)
  const differing = [variable.varied, ...(variable.byScale ? (['scale'] as const) : [])]
  const left = [
    ...(shown.length < all.length ? [`Of ${all.length} records ${shown.length} are drawn.`] : []),
    ...(count > MOST_FIGURES ? [`Of ${count} such figures ${MOST_FIGURES} are shown.`] : []),
  ]
  return {
    name: variable.name,
    title: [variable.title, ...placeFacts(records[0]!, differing)].join(', '),
    caption: [captionOf(predicted.length > 0, limit), ...left].join(' '),
    x: {label: variable.label, scale: 'log'},
    y: {
      ...{label: 'error, % of the exact output', scale: 'log', percent: true},
      ...(limit !== undefined && {limit}),
    },
    series: [...measured, ...predicted],
    guides: [...lawGuide(variable, measured, span), ...guides],
    table: pointTable(variable, all, rankingsWith(all, completed)),
  }
}

/** An error of `DIVERGES` times that of averaging V leaves the axis, if others are within `USUAL` times. */
const [DIVERGES, USUAL] = [10, 3]
/** Rows above a frame. */
const MOST_BEYOND = 6

/** Where the axis of errors ends, so that methods that diverge do not rule it; `undefined`: it shows everything. */
function limitOf(lines: readonly Series[], averages: readonly Guide[]): number | undefined {
  const average = Math.max(...averages.flatMap(({points}) => points.map(([, y]) => y)))
  const errors = lines.flatMap(({points}) => points.map(({y}) => y))
  const usual = errors.filter(y => y <= USUAL * average)
  if (usual.length === 0 || !errors.some(y => y > DIVERGES * average)) return undefined
  const limit = Math.max(average, ...usual)
  const beyond = lines.filter(({points}) => points.some(({y}) => y > limit))
  return beyond.length > MOST_BEYOND ? undefined : limit
}

/** The records of each line, thinned by their places on the axis so that points stay separate. */
function thinnedBy(
  variable: Variable,
  records: readonly CompletedSweep[],
  span: Span,
): readonly CompletedSweep[] {
  if (records.length <= MOST_POINTS) return records
  const lines = groupBy(records, record => lineOf(variable, record))
  const stretches = stretchesFor('log', span, {lines: lines.length, most: MOST_POINTS})
  const at = (record: CompletedSweep) => variable.read(record) ?? span[0]
  return lines.flatMap(line => {
    const placed = line.map(record => ({record, x: at(record)})).sort((a, b) => a.x - b.x)
    return alongAxis(placed, {...stretches, at: ({x}) => x}).map(({record}) => record)
  })
}

function captionOf(isPredicted: boolean, limit: number | undefined): string {
  return [
    'Median over draws of |estimate - exact| / |exact| (rel L2); bars are 95 % intervals.',
    ...(isPredicted ? ['Broad pale lines are predicted from the input.'] : []),
    ...(limit === undefined ? [] : ['Values above the frame are beyond its axis.']),
  ].join(' ')
}

function atMostFeatures(records: readonly CompletedSweep[]): CompletedSweep[] {
  const [, most] = spanOf(records.map(({cell}) => cell.num_features ?? 0))
  return records.filter(({cell}) => (cell.num_features ?? most) === most)
}

function pointTable(
  variable: Variable,
  records: readonly CompletedSweep[],
  rankings: readonly Ranking[],
) {
  const columns: ColumnSpec<CompletedSweep>[] = [
    ...VARIANT_COLUMNS,
    ...(variable.byScale
      ? [{title: 'q, k times', cell: ({cell}: CompletedSweep) => significant(cell.scale)}]
      : []),
    ...(isOfFeatures(variable)
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
      best: lowestError(rankings),
    },
    {title: 'predicted', cell: ({result}) => significant(result.predicted_rel_l2), sparse: true},
  ]
  return table(columns, records, MOST_ROWS)
}
