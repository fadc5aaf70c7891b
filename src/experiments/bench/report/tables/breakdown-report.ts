/** Where the time of forwards goes, as a table. */
import {type Block, type ColumnSpec, heading, list, table} from '../../../../report/document.js'
import {MISSING, nanoseconds} from '../../../../report/numbers.js'
import {variantLabel} from '../../../labels.js'
import {type Breakdown, PARTS} from '../../fields/breakdown.js'
import {sumOfParts} from '../../measure/breakdown.js'
import type {TimedRecord} from '../../schema.js'
import {backendMarks} from '../lines/backends.js'
import {ratioText, timeText} from '../lines/variants.js'

export const BREAKDOWN_LEGEND =
  'parts are timed alone, each with the finished input that the part before it gives; draw: the projection, part of the sum only where every call draws; repeat: keys and values copied to heads of queries; features: the feature map of queries and keys; contraction: keys with values, then queries; guard: the denominator made safe, and the division. In the log domain the division is part of the contraction; its bidirectional form materialises no features, only norms of keys. Fused kernels do several parts at once: sum / whole above 1 is what they save.'

interface Row {
  record: TimedRecord
  found: Breakdown
}

/** Nothing unless asked for. @param rows - in order */
export function breakdownBlocks(rows: readonly TimedRecord[]): Block[] {
  const all = rows.flatMap(record =>
    record.result.breakdown ? [{record, found: record.result.breakdown}] : [],
  )
  if (all.length === 0) return []
  const broken = all.filter(({found}) => found.parts.length > 0)
  const reasons = [...new Set(all.flatMap(({found}) => found.none ?? []))]
  return [
    heading(3, 'Where the time goes'),
    ...(broken.length > 0 ? [table(columnsOf(rows), broken)] : []),
    ...list(reasons.map(reason => `no parts: ${reason}`)),
  ]
}

/** @param all - records of the table's shape, broken down or not */
function columnsOf(all: readonly TimedRecord[]): ColumnSpec<Row>[] {
  const nameOf = ({record}: Row) =>
    [variantLabel(record.cell), ...backendMarks(record, all)].join(' ')
  return [{title: 'method', align: 'left', cell: nameOf}, ...COLUMNS]
}

const COLUMNS: readonly ColumnSpec<Row>[] = [
  {title: 'L', cell: ({record: {cell}}) => String(cell.seq_len)},
  ...PARTS.map(
    (part): ColumnSpec<Row> => ({
      title: part,
      cell: ({found}) => partText(found, part),
      tells: ({found}) => found.parts.some(one => one.part === part),
    }),
  ),
  {title: 'sum', cell: ({found}) => nanoseconds(sumOfParts(found.parts))},
  {title: 'whole', cell: ({record}) => nanoseconds(record.result.median_ns)},
  {title: 'sum / whole', cell: ({found}) => sumText(found)},
]

function partText({parts}: Breakdown, name: (typeof PARTS)[number]): string {
  const found = parts.find(({part}) => part === name)
  if (!found) return MISSING
  const {median_ns: value, median_low_ns, median_high_ns} = found
  const estimate = {value, low: median_low_ns ?? Number.NaN, high: median_high_ns ?? Number.NaN}
  return timeText(estimate)
}

function sumText({sum_over_whole, sum_over_whole_low, sum_over_whole_high}: Breakdown): string {
  if (sum_over_whole === null) return MISSING
  const [low, high] = [sum_over_whole_low ?? Number.NaN, sum_over_whole_high ?? Number.NaN]
  return ratioText({value: sum_over_whole, low, high})
}
