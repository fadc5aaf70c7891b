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
 * The best method of a task against every other: t tests of differences between runs with the same number, which have the same data.
 * Which method is the best, the tested scores say: any pair of methods may come to be compared, and Holm corrects for all pairs.
 *
 * @param rows - of one task, the best first
 * @returns of all but the first
 */
export function standings(rows: readonly MethodRow[]): Standing[] {
  const others = rows.slice(1)
  // those of the best come first
  const pairs = rows.flatMap((a, at) => rows.slice(at + 1).map(b => pairTest(a, b)))
  const adjusted = holm(pairs)
  return others.map((row, at) => ({
    row,
    worse: Number.isNaN(adjusted[at]) ? null : adjusted[at]! <= ALPHA,
  }))
}

/** p against equal means of two methods. */
function pairTest(a: MethodRow, b: MethodRow): number {
  const better = byScore(a.task)
  const differences = a.runs.flatMap(({cell}, at) => {
    const other = b.runs.findIndex(run => run.cell.run === cell.run)
    if (other < 0) return []
    const [x, y] = [a.scores[at]!, b.scores[other]!]
    // a run that diverged is worse than any other: what it is worse by does not count
    return [Number.isFinite(x - y) ? x - y : better(y, x)]
  })
  return studentTest(differences).pValue
}

/** Whether every method had several rates to choose from: otherwise nothing is said of methods. */
export function isSwept(rows: readonly MethodRow[]): boolean {
  return rows.every(({rates}) => rates.length > 1)
}
