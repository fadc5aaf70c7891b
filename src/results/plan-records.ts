import {packageVersion} from '../package.js'
import {newest} from './journal.js'
import {cellKey} from './keys.js'
import type {CellRecord} from './record.js'

/** The records of a plan, told from others that stand in the same journal. */
export interface PlanRecords {
  /** The newest record of each cell that has one, in the order of the plan. */
  records: CellRecord[]
  /** How many of the journal's records belong to no cell of the plan, or bear the key of another cell. */
  foreign: number
}

/**
 * Picks the records of a plan. Which cell a record is of is taken from the cell itself: keys can be
 * wrong where a journal was edited or put together from several.
 *
 * @param records - of a journal, oldest first
 * @param keys - of the plan's cells in its order, made by this version
 * @param version - of rfa that wrote the records: keys of other versions cannot be checked
 */
export function recordsOfPlan(
  records: readonly CellRecord[],
  keys: readonly string[],
  version: string,
): PlanRecords {
  const byKey = new Map<string, CellRecord>()
  const planned = new Set(keys)
  let foreign = 0
  for (const record of newest(records)) {
    const key = cellKey(record.schema, record.cell)
    const truthful = record.key === key || version !== packageVersion()
    if (truthful && planned.has(key)) byKey.set(key, record)
    else foreign++
  }
  return {records: keys.flatMap(key => byKey.get(key) ?? []), foreign}
}
