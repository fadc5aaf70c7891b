/** The lowest errors of a sweep, as rankings have them: the stars of tables. */
import type {BestRule} from '../../../../report/best.js'
import {LEAST_FOR_FLIPS} from '../../../../stats/index.js'
import type {CompletedSweep} from '../../schema.js'
import {isDrawn} from '../errors/comparison.js'
import {isWorseThanAverage, type Ranking, sizeOf} from '../errors/ranking.js'
import {tellsNothing} from '../errors/standing.js'

/** The mark of rel L2. @param rankings - of all rows of the table */
export function lowestError(rankings: readonly Ranking[]): BestRule<CompletedSweep> {
  return () => {
    const told = rankings.filter(({rows}) => !tellsNothing(rows))
    if (told.length === 0 && rankings.length > 0) {
      return {rows: new Set(), what: 'rel L2', how: 'averaging V is within 5 %, too'}
    }
    const rows = new Set(told.flatMap(({front}) => [...front]))
    const compared = howCompared(told)
    const competing = told.flatMap(ranking => ranking.competing)
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
