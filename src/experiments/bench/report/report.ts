/** The report of a benchmark: times, speed-ups over both exact forms, growth, crossover. */

import {isSettledSlope, isTold} from '../../../answers/index.js'
import {type Block, type ColumnSpec, heading, list, table} from '../../../report/document.js'
import {groupBy} from '../../../report/groups.js'
import {bytes, MISSING, nanoseconds, significant, UNSETTLED} from '../../../report/numbers.js'
import {quantile} from '../../../stats/index.js'
import {MOST_OF_PEAK} from '../../../theory/peak.js'
import {backendLabel, troubleItems} from '../../labels.js'
import {PASS_THROUGH} from '../fields/baselines.js'
import {headsText, keyHeads} from '../fields/grouped.js'
import type {BenchRecord, TimedRecord} from '../schema.js'
import {PairedTimes} from '../times/paired-times.js'
import {LEAST_FOR_QUARTILES, medianOf} from '../times/time-estimates.js'
import {backendColumns} from './lines/backends.js'
import {modelText} from './lines/model.js'
import {type Growing, type Growth, growing, speedUp, trends} from './lines/trends.js'
import {ratioText, rowsInOrder, shapesOf, timeText, VARIANT_COLUMNS} from './lines/variants.js'
import {LEAST_LIVE, leastTime} from './tables/best.js'
import {BREAKDOWN_LEGEND, breakdownBlocks} from './tables/breakdown-report.js'
import {DECODE_LEGEND, decodeSection} from './tables/decode-report.js'
import {
  fastestShare,
  impossibleItems,
  interruptedItems,
  LEGEND,
  machineItems,
  oddityItems,
  unsettledItems,
} from './tables/notes.js'

export function benchReport(records: readonly BenchRecord[]): Block[] {
  const completed = records.filter(record => record.status === 'completed')
  const times = new PairedTimes(completed)
  return [
    ...shapesOf(records).flatMap(rows =>
      rows[0]!.cell.mode === 'decode'
        ? decodeSection(rowsInOrder(rows), times)
        : section(rows, times),
    ),
    ...list(legendItems(completed)),
    ...list(footer(completed)),
    ...list(interruptedItems(records)),
    ...list(machineItems(records)),
    ...list(impossibleItems(completed)),
    ...list(troubleItems(records)),
  ]
}

/** What columns are, once for all shapes. */
function legendItems(records: readonly TimedRecord[]): string[] {
  const decodes = records.some(({cell}) => cell.mode === 'decode')
  const forwards = records.some(({cell}) => cell.mode !== 'decode' && cell.mode !== 'model')
  const broken = records.some(({result}) => (result.breakdown?.parts ?? []).length > 0)
  return [
    ...(records.length > 0 ? [LEGEND] : []),
    ...(forwards
      ? ['live: bytes of tensors that a call holds at once, without inputs and output']
      : []),
    ...(decodes ? [DECODE_LEGEND] : []),
    ...(broken ? [BREAKDOWN_LEGEND] : []),
  ]
}

/** One shape: times of every variant by length, then how they grow. */
function section(records: readonly TimedRecord[], times: PairedTimes): Block[] {
  const rows = rowsInOrder(records)
  const {mode, batch, heads, head_dim, value_dim, causal} = records[0]!.cell
  const model = modelText(records[0]!)
  const layer = mode === 'layer' ? `Transformer layer of width ${heads * head_dim}` : 'Forward pass'
  const what = model ? `Forward pass of ${model}` : layer
  const title = `${what}, B=${batch} ${headsText(records[0]!.cell)} D=${head_dim} Dv=${value_dim}, ${causal ? 'causal' : 'bidirectional'}`
  const found = trends(rows, times)
  const lines = growing(found)
  return [
    heading(2, title),
    table(timeColumns(records, times), rows),
    ...trendBlocks(lines),
    ...breakdownBlocks(rows),
    ...list([...unsettledItems(rows, lines, times), ...oddityItems(rows)]),
  ]
}

/** Columns of the times. @param all - records of the same shape, in which the exact forms are looked up */
function timeColumns(all: readonly TimedRecord[], times: PairedTimes): ColumnSpec<TimedRecord>[] {
  // the exact forms have separate columns: the tiled one is the fair rival, the other the usual one
  const against = (baseline: string): ColumnSpec<TimedRecord> => ({
    title: `vs ${baseline}`,
    cell: row => ratioText(speedUp(row, all, baseline, times)),
    sparse: true,
  })
  const backends = backendColumns(all, times)
  return [
    ...VARIANT_COLUMNS,
    ...backends.name,
    {title: 'L', cell: ({cell}) => String(cell.seq_len)},
    {title: 'median', cell: row => timeText(medianOf(row)), best: leastTime(times)},
    {
      title: 'mean',
      priority: 1,
      cell: ({result}) => nanoseconds(result.mean_ns),
      // draws fall into single runs, which the median need not see
      tells: ({cell}) => cell.redraw !== 'fixed',
    },
    against('softmax'),
    against('softmax-online'),
    ...backends.gain,
    // of a layer or a model the share of its speed that is left, where attention took no time
    ...(['layer', 'model'].includes(all[0]!.cell.mode ?? '') ? [against(PASS_THROUGH)] : []),
    ...RESOURCE_COLUMNS,
    ...SPREAD_COLUMNS,
  ]
}

/** What calls take in addition to time. */
const RESOURCE_COLUMNS: readonly ColumnSpec<TimedRecord>[] = [
  {
    title: 'live',
    priority: 2,
    cell: ({result}) => bytes(result.live_bytes),
    best: LEAST_LIVE,
    sparse: true,
  },
  {title: 'RSS growth', priority: 3, cell: row => bytes(residentGrowth(row)), sparse: true},
  {
    title: 'GFLOP/s',
    priority: 5,
    cell: ({result: {work_flops, median_ns}}) =>
      work_flops === 0 ? MISSING : significant(work_flops / median_ns),
    sparse: true,
  },
  {title: '% of peak', priority: 6, cell: row => peakShare(row) ?? MISSING, sparse: true},
]

const LEAST_FOR_TENTH = 10

/** How far runs lie apart. */
const SPREAD_COLUMNS: readonly ColumnSpec<TimedRecord>[] = [
  {
    title: 'p10',
    priority: 4,
    cell: ({result: {runs, samples_ns}}) =>
      runs < LEAST_FOR_TENTH ? MISSING : nanoseconds(quantile(samples_ns, 0.1)),
    sparse: true,
  },
  {
    title: 'quartiles',
    priority: 4,
    cell: ({result}) =>
      hasQuartiles(result)
        ? `${nanoseconds(result.q1_ns)} - ${nanoseconds(result.q3_ns)}`
        : MISSING,
    sparse: true,
  },
  {title: 'runs', priority: 5, cell: ({result}) => String(result.runs)},
  {
    title: 'outliers',
    priority: 6,
    cell: ({result: {outliers, severe_outliers}}) =>
      severe_outliers ? `${outliers} (${severe_outliers} severe)` : String(outliers),
    tells: ({result}) => result.outliers > 0,
  },
]

function hasQuartiles({runs, q1_ns, q3_ns}: TimedRecord['result']): boolean {
  return runs >= LEAST_FOR_QUARTILES && q1_ns !== null && q3_ns !== null
}

/**
 * Growth of resident memory, `null` where it was not measured or says nothing: inputs, output and what a call holds
 * are there at once, so a smaller growth is reused memory.
 */
function residentGrowth({cell, result}: TimedRecord): number | null {
  const {batch, heads, seq_len, head_dim, value_dim} = cell
  const arrays = 4 * batch * (heads + keyHeads(cell)) * seq_len * (head_dim + value_dim)
  const growth = result.peak_rss_over_baseline_bytes
  return growth !== null && growth >= arrays + (result.live_bytes ?? 0) ? growth : null
}

/** Share of the multiply-add peak of all threads, in percent: a clock that changed makes no more than all of it, and what else is beyond is marked. */
function peakShare(row: TimedRecord): string | null {
  const share = fastestShare(row)
  if (share === null) return null
  return share > MOST_OF_PEAK
    ? `${(100 * share).toFixed(0)} (!)`
    : (100 * Math.min(1, share)).toFixed(0)
}

/** How time grows with length, and from where a method is faster than the exact forms. */
function trendBlocks(found: readonly Growing[]): Block[] {
  if (found.length === 0) return []
  const crossings = found.flatMap(({label, crossovers}) =>
    crossovers.map(({statement}) => `${label} ${statement}`),
  )
  return [
    heading(3, 'Growth with length, over the longest: time ~ L^slope'),
    table(
      [
        {title: 'method', align: 'left', cell: ({label}) => label},
        {title: 'lengths', cell: ({growth: {lengths}}) => `${lengths[0]}..${lengths.at(-1)}`},
        {title: 'slope', cell: ({growth}) => slopeText(growth)},
        {title: 'R^2', cell: ({growth: {r2}}) => significant(r2, 4)},
      ],
      found,
    ),
    ...list(crossings),
  ]
}

function slopeText({slope, bent}: Growth): string {
  if (!isTold(slope)) return UNSETTLED
  const {value, low, high} = slope
  const reach = Math.max(0.01, high - value, value - low)
  const mark = isSettledSlope(slope) ? (bent ? ', bent' : '') : ` ${UNSETTLED}`
  return Number.isNaN(reach)
    ? `${value.toFixed(2)}${mark}`
    : `${value.toFixed(2)} ±${reach.toFixed(2)}${mark}`
}

/** Which machine parts ran: one line per backend, and what was checked before any timing. */
function footer(records: readonly TimedRecord[]): string[] {
  return groupBy(records, computerLabel).map(group => {
    return [computerLabel(group[0]!), ...operations(group), ...gateTexts(group)].join('; ')
  })
}

function gateTexts(rows: readonly TimedRecord[]): string[] {
  const gates = rows.flatMap(({result}) => result.gate ?? [])
  if (gates.length === 0) return []
  const worst = gates.reduce((a, b) =>
    b.max_abs_error / b.bound > a.max_abs_error / a.bound ? b : a,
  )
  const error = `worst error ${significant(worst.max_abs_error)} of at most ${significant(worst.bound)}`
  return [`accuracy gate passed by all: ${error}`]
}

/** What computed: a backend, or a peer with its version. */
function computerLabel({result}: TimedRecord): string {
  const label = backendLabel(result)
  if (!result.peer) return label
  const {version, python} = result.peer
  return `${label.replace('backend', 'peer')}, version ${version} in Python ${python}`
}

/** Which form of each operation ran: a composite one is not the speed that a fused one has. */
function operations(records: readonly TimedRecord[]): string[] {
  if (records[0]!.result.peer) return []
  const forms = new Set(
    records.flatMap(({result}) =>
      Object.entries(result.operations).map(([name, form]) => `${name} ${form}`),
    ),
  )
  return [forms.size > 0 ? `operations: ${[...forms].sort().join(', ')}` : 'no custom operations']
}
