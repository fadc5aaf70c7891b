/** Figures of an error sweep: errors over the number of features, over length and over norm, each variant a line. */
import {type ColumnSpec, table} from '../../../report/document.js'
import {evenly} from '../../../report/evenly.js'
import {alongAxis, stretchesFor} from '../../../report/figures/along-axis.js'
import type {Figure} from '../../../report/figures/figure.js'
import {groupBy, spanOf} from '../../../report/groups.js'
import {significant, withInterval} from '../../../report/numbers.js'
import {inputLabel} from '../../labels.js'
import type {CompletedSweep, ErrorSweepRecord} from '../schema.js'
import {VARIANT_COLUMNS} from './columns.js'
import {
  averageGuide,
  averages,
  FEATURES,
  labelOf,
  linesOf,
  type Span,
  slopeGuide,
  VARIABLES,
  type Variable,
} from './figure-lines.js'
import {headsFigures} from './heads-figure.js'
import {lowestError} from './lowest-errors.js'
import {type Ranking, rankingsWith} from './ranking.js'
import {type Ringed, withRings} from './rings.js'

/** Facts of a cell that are the same all over a figure; a line may differ in the other ones. */
const SHARED = ['input', 'layer', 'seq_len', 'scale', 'logit_scale', 'causal', 'target'] as const

/** Figures over one variable, evenly chosen, points of each, and rows of its table. */
const [MOST_FIGURES, MOST_POINTS, MOST_ROWS] = [12, 2000, 1000]

/** Figures of a whole sweep; none of what has but one value. */
export function errorSweepFigures(all: readonly ErrorSweepRecord[]): Figure[] {
  const completed = all.filter(record => record.status === 'completed')
  const records = completed.filter(isEstimate)
  const lines = VARIABLES.flatMap(variable => {
    const shared = SHARED.filter(field => field !== variable.varied)
    const groups = groupBy(records, ({cell}) => JSON.stringify(shared.map(field => cell[field])))
    const told = groups.filter(group => hasTwoValues(variable, group))
    return evenly(told, MOST_FIGURES).map(group =>
      figureOf(variable, group, {count: told.length, completed}),
    )
  })
  return [...lines, ...headsFigures(records)]
}

/** Errors below are those of rounding, and would leave no room for the others. */
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
  return variable === FEATURES ? records : atMostFeatures(records)
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
  const levels = averages(variable, shown, span)
  const measured = linesOf(variable, shown, span)
  const theory = linesOf(variable, shown, span, true)
  const predicted = withRings(theory, {variable, records: shown, levels})
  const left = [
    ...(shown.length < all.length ? [`Of ${all.length} records ${shown.length} are drawn.`] : []),
    ...(count > MOST_FIGURES ? [`Of ${count} such figures ${MOST_FIGURES} are shown.`] : []),
  ]
  return {
    name: variable.name,
    title: [variable.title, ...placeOf(variable, records[0]!)].join(', '),
    caption: [captionOf(predicted), ...left].join(' '),
    x: {label: variable.label, scale: 'log'},
    y: {label: 'rel L2', scale: 'log'},
    series: [...measured, ...predicted.lines],
    guides: [...slopeGuide(variable, measured, span), ...averageGuide(levels, span)],
    table: pointTable(variable, all, rankingsWith(all, completed)),
  }
}

/** Of each line so many records that points can be told apart, by their places on the axis alone. */
function thinnedBy(
  variable: Variable,
  records: readonly CompletedSweep[],
  span: Span,
): readonly CompletedSweep[] {
  if (records.length <= MOST_POINTS) return records
  const lines = groupBy(records, record => labelOf(variable, record))
  const stretches = stretchesFor('log', span, {lines: lines.length, most: MOST_POINTS})
  const at = (record: CompletedSweep) => variable.read(record) ?? span[0]
  return lines.flatMap(line => {
    const placed = line.map(record => ({record, x: at(record)})).sort((a, b) => a.x - b.x)
    return alongAxis(placed, {...stretches, at: ({x}) => x}).map(({record}) => record)
  })
}

function captionOf({lines, says}: Ringed): string {
  const facts = [
    'Median of |estimate - exact| / |exact| over draws; bars are its 95 % interval',
    ...(lines.length > 0 ? ['broad pale lines what is predicted from the input'] : []),
    ...(says.length > 0 ? [`rings where by it ${says.join(', or ')}`] : []),
  ]
  return `${facts.join(', ')}.`
}

function atMostFeatures(records: readonly CompletedSweep[]): CompletedSweep[] {
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

function pointTable(
  variable: Variable,
  records: readonly CompletedSweep[],
  rankings: readonly Ranking[],
) {
  const columns: ColumnSpec<CompletedSweep>[] = [
    ...VARIANT_COLUMNS,
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
      best: lowestError(rankings),
    },
    {
      title: 'predicted',
      cell: ({result}) => significant(result.predicted_rel_l2),
      tells: ({result}) => result.predicted_rel_l2 !== null,
    },
  ]
  return table(columns, records, MOST_ROWS)
}
