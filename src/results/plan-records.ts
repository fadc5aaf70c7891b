import {packageVersion} from '../package.js'
import {KeyColumn} from './key-column.js'
import {type CellRecord, isSuperseded} from './record.js'
import {cellKeyOf} from './stored-records.js'

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
  const planned = new KeyColumn()
  keys.forEach((key, place) => {
    planned.push(key)
    planned.keep(place)
  })
  const found = Array.from<CellRecord | undefined>({length: keys.length})
  const foreign = new Set<string>()
  for (const record of records) {
    const key = cellKeyOf(record)
    const place = planned.placeOf(key)
    const truthful = version !== packageVersion() || record.key === key
    if (!truthful || place === undefined) foreign.add(`${record.key} ${key}`)
    else if (isSuperseded(found[place], record)) found[place] = record
  }
  return {records: found.filter(record => record !== undefined), foreign: foreign.size}
}
