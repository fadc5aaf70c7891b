/** What a sweep found, in a line per table. */

import {type Block, list, text} from '../../report/document.js'
import {groupBy} from '../../report/groups.js'
import {significant} from '../../report/numbers.js'
import {methodLabel, variantLabel} from '../labels.js'
import {YARDSTICK} from './best.js'
import type {CompletedSweep} from './schema.js'
import {untold} from './spread.js'

/** Lengths of feature vectors that one line names, and lines. */
const MOST_LENGTHS = 6
const MOST_LINES = 6

/** Names of those that are not distinguishable from the lowest. */
const MOST_TIES = 2

/** One input at one length, scale and causality. */
export interface SweepSection {
  title: string
  records: readonly CompletedSweep[]
}

/**
 * The lowest median error against softmax of the given inputs for each length of feature vector, as far as methods
 * compete there, with that of averaging V beside them. Nothing where nothing competes.
 */
export function closing(sections: readonly SweepSection[]): Block[] {
  const lines = sections.flatMap(({title, records}) => {
    const line = lowest(records.filter(({cell}) => cell.target === 'raw'))
    return line === undefined ? [] : [sections.length > 1 ? `${title}: ${line}` : line]
  })
  if (lines.length === 0) return []
  const lead = 'Lowest median rel L2 by length of the feature vector'
  if (sections.length === 1) return [text(`${lead}: ${lines[0]}.`)]
  const rest = lines.length - MOST_LINES
  const more = rest > 0 ? [`and ${rest} more above`] : []
  return [text(`${lead}:`), ...list([...lines.slice(0, MOST_LINES), ...more])]
}

function lowest(records: readonly CompletedSweep[]): string | undefined {
  const rivals = records.filter(
    ({cell, result}) =>
      cell.method !== YARDSTICK && result.feature_dim > 0 && result.rel_l2.median !== null,
  )
  if (new Set(rivals.map(({cell}) => methodLabel(cell))).size < 2) return undefined
  const byLength = groupBy(rivals, ({result}) => String(result.feature_dim))
    .map(group => group.toSorted((a, b) => errorOf(a) - errorOf(b)))
    .sort(([a], [b]) => a!.result.feature_dim - b!.result.feature_dim)
  const best = byLength.reduce((a, b) => (errorOf(b[0]!) < errorOf(a[0]!) ? b : a))
  const shown = byLength.length > MOST_LENGTHS ? [best] : byLength
  return [...shown.map(named), ...averaging(records)].join('; ')
}

/** The first of its length, and those that may as well be it. */
function named(group: readonly CompletedSweep[]): string {
  const [first, ...others] = group as [CompletedSweep, ...CompletedSweep[]]
  const ties = others.filter(other => untold(first, other)).map(({cell}) => variantLabel(cell))
  const names = ties.length > MOST_TIES ? `${ties.length} others` : ties.join(' or ')
  const or = ties.length > 0 ? ` (or ${names})` : ''
  return `F=${first.result.feature_dim} ${variantLabel(first.cell)} ${significant(errorOf(first))}${or}`
}

/** The error of averaging V, where it was measured. */
function averaging(records: readonly CompletedSweep[]): string[] {
  const row = records.find(({cell}) => cell.method === YARDSTICK)
  return row ? [`averaging V ${significant(errorOf(row))}`] : []
}

function errorOf({result}: CompletedSweep): number {
  return result.rel_l2.median ?? Number.POSITIVE_INFINITY
}
