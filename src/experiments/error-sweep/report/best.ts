/** The stars of error tables: rows on the front of error and features. */
import type {BestRule} from '../../../report/best.js'
import {LEAST_FOR_FLIPS} from '../../../stats/index.js'
import {type CompletedSweep, replicatesOf} from '../schema.js'
import {isDrawn} from './comparison.js'
import {isWorseThanAverage, type Ranking, sizeOf} from './ranking.js'

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
      return {rows, what: 'rel L2', how: `no two rows differ (${compared})`}
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
  const drawn = rankings.flatMap(({competing}) => competing.filter(isDrawn))
  if (drawn.length === 0) return equal
  if (rankings.every(({tested}) => tested)) return `paired tests; ${equal}`
  const few = drawn.some(row => replicatesOf(row) < LEAST_FOR_FLIPS)
  const how = few
    ? `tests need ${LEAST_FOR_FLIPS} draws, so rows tie where ranges overlap`
    : 'rows tie where 95 % intervals overlap'
  return `${how}; ${equal}`
}
