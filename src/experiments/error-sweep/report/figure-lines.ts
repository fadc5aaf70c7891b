/** Lines of errors, measured and predicted. */
import type {Point, Series} from '../../../report/figures/figure.js'
import {groupBy} from '../../../report/groups.js'
import {plural, significant, withInterval} from '../../../report/numbers.js'
import {variantLabel} from '../../labels.js'
import type {CompletedSweep} from '../schema.js'
import {FEATURES, type Span, type Variable} from './figure-variables.js'

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
    `${plural(result.replicates_run ?? cell.replicates, 'replicate')}, seed ${cell.seed}`,
  ]
}

/** A variant, without M where that is the axis. */
export function labelOf(variable: Variable, {cell}: CompletedSweep): string {
  return variable === FEATURES ? variantLabel({...cell, num_features: null}) : variantLabel(cell)
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
