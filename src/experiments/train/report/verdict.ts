/** Which methods are worse than the best one of their task. */
import {worseThanFirst} from '../../../answers/index.js'
import {byScore, type MethodRow} from './rows.js'

/** How a method stands to the best of its task. */
export interface Standing {
  row: MethodRow
  /** For certain; `null`: too few runs to say. */
  worse: boolean | null
}

/**
 * The best method of a task against every other, by differences between runs with the same number, which have the same data.
 *
 * @param rows - of one task, the best first
 * @returns of all but the first
 */
export function standings(rows: readonly MethodRow[]): Standing[] {
  const worse = worseThanFirst(rows, differences)
  return rows.slice(1).map((row, at) => ({row, worse: worse[at]!}))
}

function differences(a: MethodRow, b: MethodRow): number[] {
  const better = byScore(a.task)
  return a.runs.flatMap(({cell}, at) => {
    const other = b.runs.findIndex(run => run.cell.run === cell.run)
    if (other < 0) return []
    const [x, y] = [a.scores[at]!, b.scores[other]!]
    // a run that diverged is worse than any other: what it is worse by does not count
    return [Number.isFinite(x - y) ? x - y : better(y, x)]
  })
}

/** Whether every method had several rates to choose from: otherwise nothing is said of methods. */
export function isSwept(rows: readonly MethodRow[]): boolean {
  return rows.every(({rates}) => rates.length > 1)
}
