/** Cells that ended otherwise than completed, or before they were. */
import type {CellRecord, Completed} from '../../../src/results/record.js'

const ERROR = {code: 'CELL_CRASHED', message: 'expected an answer, got "none",\nbut a newline'}

/** The same cell as `record`'s, failed. */
export function failed<R extends CellRecord>({schema, key, cell}: R, error = ERROR): R {
  return {schema, key, cell, status: 'failed', error} as unknown as R
}

/** The same cell as `record`'s, skipped. */
export function skipped<R extends CellRecord>(
  {schema, key, cell}: R,
  reason = 'supports no mask',
): R {
  return {schema, key, cell, status: 'skipped', reason} as unknown as R
}

/** The same record of a cell that was interrupted. */
export function interrupted<Cell, Result>(
  record: Completed<Cell, Result>,
): Completed<Cell, Result> {
  return {...record, interrupted: true}
}
