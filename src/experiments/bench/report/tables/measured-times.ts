import {finiteOrNull} from '../../../../stats/index.js'
import type {MeasuredTime} from '../../../measured.js'
import {BASELINES} from '../../fields/baselines.js'
import {headsText} from '../../fields/grouped.js'
import type {BenchRecord} from '../../schema.js'
import {medianOf} from '../../times/time-estimates.js'

/** Times of forward passes of the attention alone, with projections that are drawn once. */
export function measuredTimes(records: readonly BenchRecord[]): MeasuredTime[] {
  return records.flatMap((record): MeasuredTime[] => {
    if (record.status !== 'completed') return []
    const {cell, result} = record
    if (cell.mode !== undefined || cell.peer !== undefined || cell.redraw !== 'fixed') return []
    const {value, low, high} = medianOf(record)
    const place = `B=${cell.batch} ${headsText(cell)} D=${cell.head_dim}, ${result.backend}`
    return [
      {
        ...{cell, length: cell.seq_len, headDim: cell.head_dim, place},
        ...{value, low: finiteOrNull(low), high: finiteOrNull(high)},
        isExact: BASELINES.includes(cell.method),
      },
    ]
  })
}
