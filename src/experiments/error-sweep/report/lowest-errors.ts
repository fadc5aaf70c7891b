/** The lowest errors of a sweep, in a line per table: its stars in words. */

import {type Block, list, text} from '../../../report/document.js'
import {groupBy} from '../../../report/groups.js'
import {significant} from '../../../report/numbers.js'
import {variantLabel} from '../../labels.js'
import type {CompletedSweep} from '../schema.js'
import {type Ranking, YARDSTICK} from './ranking.js'

/** Lengths of feature vectors that one line names, and lines. */
const MOST_LENGTHS = 6
const MOST_LINES = 6

/** Names of those that tie. */
const MOST_TIES = 2

/** One input at one length, scale and causality, and layer. */
export interface SweepSection {
  title: string
  ranking: Ranking
}

/**
 * The rows with a star for each length of feature vector, and the error of averaging V. Nothing where there are none.
 *
 * @param sections - against softmax of the given inputs
 */
export function closing(sections: readonly SweepSection[]): Block[] {
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

function lowest({rows, front, compare}: Ranking): string | undefined {
  const marked = [...front].filter(({result}) => result.feature_dim > 0)
  if (marked.length === 0) return undefined
  const byLength = groupBy(marked, ({result}) => String(result.feature_dim))
    .map(group => group.toSorted((a, b) => errorOf(a) - errorOf(b)))
    .sort(([a], [b]) => a!.result.feature_dim - b!.result.feature_dim)
  const best = marked.reduce((a, b) => (errorOf(b) < errorOf(a) ? b : a))
  const ties = marked.filter(row => row !== best && compare(best, row).answer !== 'less')
  const shown =
    byLength.length > MOST_LENGTHS
      ? [named([best, ...ties])]
      : byLength.map(group => named(group as [CompletedSweep, ...CompletedSweep[]]))
  return [...shown, ...averaging(rows)].join('; ')
}

/** The first, and those that tie with it. */
function named([first, ...others]: readonly [CompletedSweep, ...CompletedSweep[]]): string {
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

function errorOf({result}: CompletedSweep): number {
  return result.rel_l2.median ?? Number.POSITIVE_INFINITY
}
