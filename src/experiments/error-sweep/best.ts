/** Which errors of a table are marked as the least: of rows that cost alike, as far as draws tell. */
import {type BestRule, leastAmong} from '../../report/best.js'
import type {CompletedSweep} from './schema.js'
import {boundsOf, untold} from './spread.js'

/** The yardstick: named beside the others, never among them. */
export const YARDSTICK = 'mean-value'

/** The mark of rel L2. @param rows - of its table */
export function leastError(rows: readonly CompletedSweep[]): BestRule<CompletedSweep> {
  const layered = new Set(rows.map(({cell}) => cell.layer)).size > 1
  const sizes = new Set(rows.flatMap(row => sizeOf(row)?.name ?? []))
  const size = sizes.size > 1 ? 'its F, or M where it has no F' : `its ${[...sizes].join()}`
  return {
    what: `least rel L2 of ${layered ? 'its layer and ' : ''}${size}`,
    ties: 'spreads in brackets overlap',
    among: all => leastAmong(all, {rivals, value: errorOf, ties: untold}),
  }
}

/** Rows of one layer and size that estimate the same. */
function rivals(row: CompletedSweep): string | undefined {
  const size = sizeOf(row)
  if (row.cell.method === YARDSTICK || !size) return undefined
  return JSON.stringify([row.cell.layer, row.result.target_label, size])
}

/** What a row costs: the length of its feature vectors, else the number that it was given. */
function sizeOf({cell, result}: CompletedSweep): {name: 'F' | 'M'; size: number} | undefined {
  if (result.feature_dim > 0) return {name: 'F', size: result.feature_dim}
  return cell.num_features === null ? undefined : {name: 'M', size: cell.num_features}
}

/** Broken replicates leave an error that cannot be compared. */
function errorOf(row: CompletedSweep): number | null {
  const {rel_l2} = row.result
  return boundsOf(row, rel_l2) ? rel_l2.median : null
}
