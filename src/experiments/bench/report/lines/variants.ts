/** Rows of a benchmark's tables: what was timed, in which order, and how estimates are printed. */
import {isSettled, isTold} from '../../../../answers/index.js'
import type {ColumnSpec} from '../../../../report/document.js'
import {groupBy, inOrder} from '../../../../report/groups.js'
import {
  MISSING,
  nanoseconds,
  ratio,
  significant,
  UNSETTLED,
  withReach,
} from '../../../../report/numbers.js'
import type {Estimate} from '../../../../stats/index.js'
import {methodLabel, projectionLabel} from '../../../labels.js'
import {BASELINES} from '../../fields/baselines.js'
import {keyHeads} from '../../fields/grouped.js'
import {COMPUTERS} from '../../fields/peers.js'
import type {BenchRecord, TimedRecord} from '../../schema.js'

/** Records with times, by the shape of what was timed: only within one do they compare. */
export function shapesOf(records: readonly BenchRecord[]): TimedRecord[][] {
  const completed = records.filter(record => record.status === 'completed')
  const byBatch = completed.toSorted((a, b) => a.cell.batch - b.cell.batch)
  return groupBy(byBatch, ({cell}) => {
    const {mode, model, layers, batch, heads, head_dim, value_dim, causal} = cell
    const sizes = [batch, heads, keyHeads(cell), head_dim, value_dim, causal]
    return JSON.stringify([mode, model, layers, ...sizes])
  })
}

/** Records of one shape by variant, the exact forms first, and by length. */
export function rowsInOrder(records: readonly TimedRecord[]): TimedRecord[] {
  return inOrder(
    exactFormsFirst(records),
    [
      ({cell}) => methodLabel(cell),
      ({cell}) => projectionLabel(cell) ?? '',
      ({cell}) => cell.redraw,
      ({result}) => result.backend,
    ],
    [({cell}) => cell.num_features ?? 0, ({cell}) => cell.seq_len],
  )
}

/** Exact forms, then the methods by name, and backends in the order of preference: cells may have run in random order. */
function exactFormsFirst(records: readonly TimedRecord[]): TimedRecord[] {
  const rank = ({cell, result}: TimedRecord) => {
    const place = BASELINES.indexOf(cell.method)
    const backend = COMPUTERS.indexOf(result.backend)
    return `${place < 0 ? BASELINES.length : place} ${methodLabel(cell)} ${backend}`
  }
  return records.toSorted((a, b) => (rank(a) < rank(b) ? -1 : rank(a) > rank(b) ? 1 : 0))
}

/** What was timed: method, random matrix, M and F, the latter two side by side for fairness. */
export const VARIANT_COLUMNS: readonly ColumnSpec<TimedRecord>[] = [
  {title: 'method', align: 'left', cell: ({cell}) => methodLabel(cell)},
  {
    title: 'projection',
    align: 'left',
    priority: 1,
    cell: ({cell}) => projectionLabel(cell) ?? MISSING,
    sparse: true,
  },
  {
    title: 'redraw',
    align: 'left',
    cell: ({cell}) => (cell.projection === null ? MISSING : cell.redraw),
    tells: ({cell}) => cell.redraw !== 'fixed',
  },
  {title: 'M', cell: ({cell}) => String(cell.num_features ?? MISSING), sparse: true},
  {
    title: 'F',
    cell: ({result}) => (result.feature_dim > 0 ? String(result.feature_dim) : MISSING),
    sparse: true,
  },
]

/** A time with its reach. */
export function timeText(estimate: Estimate): string {
  return withReach(estimate, nanoseconds)
}

/** A ratio with its interval, `2.80x [2.61, 3.02]`; `2.80x [2.10, 3.71] ?` where that is wide, `?` where it has no end. */
export function ratioText(estimate: Estimate | null): string {
  if (estimate === null) return MISSING
  if (!isTold(estimate)) return UNSETTLED
  const {value, low, high} = estimate
  const text = Number.isNaN(low)
    ? ratio(value)
    : `${ratio(value)} [${significant(low)}, ${significant(high)}]`
  return isSettled(estimate) ? text : `${text} ${UNSETTLED}`
}
