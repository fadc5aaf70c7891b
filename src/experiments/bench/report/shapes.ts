import {groupBy} from '../../../report/groups.js'
import {keyHeads} from '../fields/grouped.js'
import type {BenchRecord, TimedRecord} from '../schema.js'

/** Records with times, by the shape of what was timed: only within one do they compare. */
export function shapesOf(records: readonly BenchRecord[]): TimedRecord[][] {
  const completed = records.filter(record => record.status === 'completed')
  const byBatch = completed.toSorted((a, b) => a.cell.batch - b.cell.batch)
  return groupBy(byBatch, ({cell}) => {
    const {mode, batch, heads, head_dim, value_dim, causal} = cell
    return JSON.stringify([mode, batch, heads, keyHeads(cell), head_dim, value_dim, causal])
  })
}
