/** Which methods are worse than the best one of their task. */
import {holm, studentTest} from '../../../stats/index.js'
import {byScore, type MethodRow} from './rows.js'

/** Chance of any false alarm among the comparisons of a task. */
const ALPHA = 0.05

/** How a method stands to the best of its task. */
export interface Standing {
  row: MethodRow
  /** `null`: too few runs to say. */
  worse: boolean | null
}

/**
 * The best method of a task against every other: t tests of differences between runs with the same number, which have the same data,
 * after Holm.
 *
 * @param rows - of one task, the best first
 * @returns of all but the first
 */
export function standings([best, ...others]: readonly MethodRow[]): Standing[] {
  if (!best) return []
  const better = byScore(best.task)
  const pValues = others.map(row => {
    const pairs = best.runs.flatMap(({cell}, at) => {
      const other = row.runs.findIndex(run => run.cell.run === cell.run)
      return other < 0 ? [] : [[best.scores[at]!, row.scores[other]!] as const]
    })
    // a run that diverged is worse than any other: what it is worse by does not count
    const differences = pairs.map(([a, b]) => (Number.isFinite(a - b) ? a - b : better(b, a)))
    return studentTest(differences).pValue
  })
  const adjusted = holm(pValues)
  return others.map((row, at) => ({
    row,
    worse: Number.isNaN(adjusted[at]) ? null : adjusted[at]! <= ALPHA,
  }))
}

/** Whether every method had several rates to choose from: otherwise nothing is said of methods. */
export function isSwept(rows: readonly MethodRow[]): boolean {
  return rows.every(({rates}) => rates.length > 1)
}
