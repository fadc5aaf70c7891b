/** The lowest errors of a sweep, as rankings have them: stars of tables, a line per table, and sentences of the first screen. */
import type {BestRule} from '../../../report/best.js'
import {type Block, list, text} from '../../../report/document.js'
import {groupBy} from '../../../report/groups.js'
import {plural, roundNumber, significant, withInterval} from '../../../report/numbers.js'
import {listed} from '../../../report/words.js'
import {LEAST_FOR_FLIPS} from '../../../stats/index.js'
import {inputLabel, variantLabel} from '../../labels.js'
import type {CompletedSweep, ErrorSweepRecord} from '../schema.js'
import {isDrawn} from './comparison.js'
import {
  errorOf,
  isWorseThanAverage,
  type Ranking,
  rankingsOf,
  sizeOf,
  YARDSTICK,
} from './ranking.js'
import {atLargestFeatures, rowLabel} from './sections.js'

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

/** Sections that sentences tell; tables have them all. */
const MOST_SECTIONS = 4

/** What the first screen of a report tells: one or two sentences for each input, length, scale and causality. */
export function errorSweepHighlights(records: readonly ErrorSweepRecord[]): string[] {
  const raw = records.filter(
    (record): record is CompletedSweep =>
      record.status === 'completed' && record.cell.target === 'raw',
  )
  const sections = groupBy(raw, ({cell: {input, seq_len, scale, logit_scale, causal, layer}}) =>
    JSON.stringify([input, seq_len, scale, logit_scale, causal, layer]),
  )
  return sections
    .slice(0, MOST_SECTIONS)
    .flatMap(rows => [...rankingsOf(rows).flatMap(lowestOf), ...featuresNeeded(rows)])
}

/** The lowest of the rows with a star, or where there is none that all tie, and how many tie with it. */
function lowestOf(ranking: Ranking): string[] {
  const {front, competing} = ranking
  const [best, ties] = leastOf(front.size > 0 ? [...front] : competing, ranking)
  if (!best || competing.length < 2) return []
  const {median, low, high} = best.result.rel_l2
  const tied =
    ties.length === 0 ? '' : `, not distinguishable from ${plural(ties.length, 'other row')}`
  return [
    `${placeOf(best)} the lowest relative error is ${withInterval(median, low, high)}, of ${variantLabel(best.cell)}${tied}.`,
  ]
}

/** How many features a relative error of 5 % takes: all variants that theory can tell of, the fewest first. */
function featuresNeeded(rows: readonly CompletedSweep[]): string[] {
  const needs = atLargestFeatures(rows).flatMap(row => {
    const count = row.result.num_features_for_5_percent
    return count === null ? [] : [{name: rowLabel(row), count}]
  })
  if (needs.length === 0) return []
  const told = needs
    .toSorted((a, b) => a.count - b.count)
    .map(({name, count}) => `${name} about ${roundNumber(Math.log10(count))}`)
  return [`${placeOf(rows[0]!)} a relative error of 5 % takes so many features: ${listed(told)}.`]
}

function placeOf({cell, result}: CompletedSweep): string {
  const layer = cell.layer === undefined ? '' : `, layer ${cell.layer}`
  const scale = cell.scale === 1 ? '' : `, q and k times ${cell.scale}`
  return `On ${inputLabel(cell.input)}${layer} at ${result.query_len} tokens${scale}`
}
