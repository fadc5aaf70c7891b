import {packageVersion} from '../../package.js'
import {cellKey} from '../keys.js'
import {type CellRecord, isSuperseded} from '../record.js'

/** The records of a plan, without others in the same journal. */
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
  const newest = new Map<string, CellRecord | undefined>(keys.map(key => [key, undefined]))
  const foreign = new Set<string>()
  for (const record of records) {
    const key = cellKey(record.schema, record.cell)
    const truthful = version !== packageVersion() || record.key === key
    if (!truthful || !newest.has(key)) foreign.add(`${record.key} ${key}`)
    else if (isSuperseded(newest.get(key), record)) newest.set(key, record)
  }
  const all = [...newest.values()].filter(record => record !== undefined)
  return {records: all, foreign: foreign.size}
}
