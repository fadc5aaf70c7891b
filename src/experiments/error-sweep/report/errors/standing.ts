/** How rows of a sweep did: on their own, and against averaging V. */
import {groupBy} from '../../../../report/groups.js'
import {CLOSE, YARDSTICK} from '../../../averaging.js'
import {methodLabel} from '../../../labels.js'
import type {CompletedSweep} from '../../schema.js'
import {isRounding} from './comparison.js'
import {leadingError} from './leading.js'
import {errorOf, isWorseThanAverage} from './ranking.js'

/**
 * - `yardstick`: averaging V
 * - `broken`: the error of a replicate is not finite
 * - `exact`: no error but float32 rounding
 * - `unusable`: denominators change sign, and the error is above that of averaging V
 * - `worse`, `better`: than averaging V, by the medians
 */
export type Standing = 'yardstick' | 'broken' | 'exact' | 'unusable' | 'worse' | 'better'

/** How a row did. */
export function standingOf(row: CompletedSweep): Standing {
  const {means_unknown, mse_over_mean_value} = row.result
  const {median, max} = leadingError(row)
  if (row.cell.method === YARDSTICK) return 'yardstick'
  if (median === null || max === null) return 'broken'
  if (isRounding(row)) return 'exact'
  const isWorse = isWorseThanAverage(row) || (mse_over_mean_value === null && median > 1)
  if (!isWorse) return 'better'
  return means_unknown === 'sign_changes' ? 'unusable' : 'worse'
}

/** Whether a row that counts as broken is so because exact attention is zero: its outputs are finite, its error is not. */
export function isOfZero({result: {mse, not_finite_pct, rel_l2}}: CompletedSweep): boolean {
  return rel_l2.min === null && not_finite_pct.max === 0 && mse.max !== null
}

/** Rows by how they did. */
export function byStanding(
  rows: readonly CompletedSweep[],
): Readonly<Record<Standing, readonly CompletedSweep[]>> {
  const of = (standing: Standing) => rows.filter(row => standingOf(row) === standing)
  return {
    yardstick: of('yardstick'),
    broken: of('broken'),
    exact: of('exact'),
    unusable: of('unusable'),
    worse: of('worse'),
    better: of('better'),
  }
}

/** From the lowest error to the highest. */
export function byError(rows: readonly CompletedSweep[]): CompletedSweep[] {
  return rows.toSorted((a, b) => errorOf(a) - errorOf(b))
}

/** Their methods, each once. */
export function methodsOf(rows: readonly CompletedSweep[]): string[] {
  return groupBy(rows, ({cell}) => methodLabel(cell)).map(([first]) => methodLabel(first!.cell))
}

/**
 * rel L2 of averaging V: measured, or from its mean squared error, as both go by the norm of the exact output.
 *
 * @param rows - of one table
 * @returns `undefined` where no row says so; 0 where V hardly varies
 */
export function averageError(rows: readonly CompletedSweep[]): number | undefined {
  const yardstick = rows.find(row => standingOf(row) === 'yardstick')
  const measured = yardstick && leadingError(yardstick).median
  if (measured !== undefined && measured !== null) return measured
  for (const {result} of rows) {
    const {mean_value_mse, mse, rel_l2, mse_over_mean_value} = result
    if (mse.min && rel_l2.min) {
      return mse_over_mean_value === null ? 0 : rel_l2.min * Math.sqrt(mean_value_mse / mse.min)
    }
  }
  return undefined
}

/**
 * Whether rows say nothing of how methods compare: averaging V is close to exact attention, too, so that hardly anything is left
 * for attention to do.
 *
 * @param rows - of one table
 */
export function tellsNothing(rows: readonly CompletedSweep[]): boolean {
  const average = averageError(rows)
  return average !== undefined && average <= CLOSE
}
