/** The lowest errors of a sweep, as rankings have them: stars of tables, a line per table, and sentences of the first screen. */
import type {BestRule} from '../../../report/best.js'
import {type Block, list, text} from '../../../report/document.js'
import {groupBy} from '../../../report/groups.js'
import {significant} from '../../../report/numbers.js'
import {LEAST_FOR_FLIPS} from '../../../stats/index.js'
import {variantLabel} from '../../labels.js'
import type {CompletedSweep} from '../schema.js'
import {isDrawn} from './comparison.js'
import {errorOf, isWorseThanAverage, type Ranking, sizeOf, YARDSTICK} from './ranking.js'

/** The mark of rel L2. @param rankings - of all rows of the table */
export function lowestError(rankings: readonly Ranking[]): BestRule<CompletedSweep> {
  return () => {
    const rows = new Set(rankings.flatMap(({front}) => [...front]))
    const compared = howCompared(rankings)
    const competing = rankings.flatMap(ranking => ranking.competing)
    if (rows.size > 0) {
      const how = `ties included (${compared}); never on a row worse than averaging V`
      return {rows, what: `lowest rel L2 ${scopeOf(competing)}`, how}
    }
    if (competing.length > 1) {
      const few = rankings.some(({basis}) => basis === 'few_draws')
      const how = few ? `tests need ${LEAST_FOR_FLIPS} draws` : `no two rows differ (${compared})`
      return {rows, what: 'rel L2', how}
    }
    const worse = rankings.some(ranking => ranking.rows.some(isWorseThanAverage))
    return worse
      ? {rows, what: 'rel L2', how: 'no row with features is better than averaging V'}
      : undefined
  }
}

/** What a row is the lowest of. */
function scopeOf(rows: readonly CompletedSweep[]): string {
  const layer = new Set(rows.map(({cell}) => cell.layer)).size > 1 ? 'of its layer ' : ''
  const sizes = new Set(rows.map(row => sizeOf(row)!.name))
  return `${layer}with at most its ${sizes.size > 1 ? 'F (or M where there is no F)' : [...sizes].join()}`
}

/** How rows are compared, in words. */
function howCompared(rankings: readonly Ranking[]): string {
  const equal = 'differences below 1 % are equal'
  if (!rankings.some(({competing}) => competing.some(isDrawn))) return equal
  const tested = rankings.every(({basis}) => basis === 'tests')
  return `${tested ? 'paired tests' : '95 % intervals of ratios'}; ${equal}`
}

/** Lengths of feature vectors that one line names, and lines. */
const MOST_LENGTHS = 6
const MOST_LINES = 6

/** Names of those that tie. */
const MOST_TIES = 2

/** One input at one length, scale and causality, and layer. */
export interface TitledRanking {
  title: string
  ranking: Ranking
}

/**
 * The rows with a star for each length of feature vector, and the error of averaging V. Nothing where there are none.
 *
 * @param sections - against softmax of the given inputs
 */
export function closing(sections: readonly TitledRanking[]): Block[] {
  const lines = sections.flatMap(({title, ranking}) => {
    const line = lowest(ranking)
    return line === undefined ? [] : [sections.length > 1 ? `${title}: ${line}` : line]
  })
  if (lines.length === 0) return []
  const lead = 'Lowest rel L2'
  if (sections.length === 1) return [text(`${lead}: ${lines[0]}.`)]
  const rest = lines.length - MOST_LINES
  const more = rest > 0 ? [`and ${rest} more above`] : []
  return [text(`${lead}:`), ...list([...lines.slice(0, MOST_LINES), ...more])]
}

function lowest(ranking: Ranking): string | undefined {
  const marked = [...ranking.front].filter(({result}) => result.feature_dim > 0)
  const [best, ties] = leastOf(marked, ranking)
  if (!best) return undefined
  const byLength = groupBy(marked, ({result}) => String(result.feature_dim))
    .map(group => group.toSorted((a, b) => errorOf(a) - errorOf(b)))
    .sort(([a], [b]) => a!.result.feature_dim - b!.result.feature_dim)
  const shown =
    byLength.length > MOST_LENGTHS
      ? [withTies(best, ties)]
      : byLength.map(([first, ...others]) => withTies(first!, others))
  return [...shown, ...averaging(ranking.rows)].join('; ')
}

/** The row of the lowest error, and those that are not distinguishable from it. */
function leastOf(
  rows: readonly CompletedSweep[],
  {compare}: Ranking,
): [best: CompletedSweep | undefined, ties: CompletedSweep[]] {
  const [best, ...others] = rows.toSorted((a, b) => errorOf(a) - errorOf(b))
  return [best, others.filter(row => compare(best!, row).answer !== 'less')]
}

/** A row, and those that tie with it. */
function withTies(first: CompletedSweep, others: readonly CompletedSweep[]): string {
  const ties = others.map(({cell}) => variantLabel(cell))
  const names = ties.length > MOST_TIES ? `${ties.length} others` : ties.join(' or ')
  const or = ties.length > 0 ? ` (or ${names})` : ''
  return `F=${first.result.feature_dim} ${variantLabel(first.cell)} ${significant(errorOf(first))}${or}`
}

/** The error of averaging V, where it was measured. */
function averaging(rows: readonly CompletedSweep[]): string[] {
  const row = rows.find(({cell}) => cell.method === YARDSTICK)
  return row ? [`averaging V ${significant(errorOf(row))}`] : []
}
