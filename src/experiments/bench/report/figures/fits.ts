/** Growth and crossovers of a benchmark as data. */
import {isSettledSlope} from '../../../../answers/index.js'
import type {Findings, Fit} from '../../../../results/findings.js'
import {kvHeadsOf} from '../../fields/grouped.js'
import type {BenchRecord, TimedRecord} from '../../schema.js'
import {PairedTimes} from '../../times/paired-times.js'
import {lineLabel} from '../lines/backends.js'
import {machineVerdictOf} from '../lines/machine-verdict.js'
import {type Growth, type Trend, trends} from '../lines/trends.js'
import {rowsInOrder, shapesOf} from '../lines/variants.js'
import {decodeCrossover, exactDecode} from '../tables/decode-report.js'

export function benchFindings(records: readonly BenchRecord[]): Findings {
  const machine = machineVerdictOf(records)
  return {fits: benchFits(records), ...(machine && {machine})}
}

/** One per variant, shape by shape, as in the report. */
export function benchFits(records: readonly BenchRecord[]): Fit[] {
  const shapes = shapesOf(records)
  const times = new PairedTimes(shapes.flat())
  const batches = new Set(shapes.map(([first]) => first!.cell.batch))
  return shapes.flatMap(shape => {
    const rows = rowsInOrder(shape)
    const {mode, batch} = rows[0]!.cell
    const fits = mode === 'decode' ? decodeFits(rows, times) : trends(rows, times).map(fitOf)
    if (batches.size === 1) return fits
    return fits.map(fit => ({...fit, variant: `${fit.variant} B=${batch}`}))
  })
}

function fitOf({label, records, growth, crossovers}: Trend): Fit {
  const no_slope = whyNoSlope(growth)
  return {
    variant: label,
    mode: records[0]!.cell.mode ?? 'forward',
    shape: shapeOf(records[0]!),
    keys: records.map(({key}) => key),
    lengths: records.map(({cell}) => cell.seq_len),
    slope: no_slope === null ? growth!.slope : null,
    slope_lengths: growth?.lengths ?? [],
    no_slope,
    r2: no_slope === null ? growth!.r2 : null,
    crossovers,
  }
}

function shapeOf({cell}: TimedRecord): Fit['shape'] {
  const {batch, heads, head_dim, value_dim, causal} = cell
  return {batch, heads, ...kvHeadsOf(cell), head_dim, value_dim, causal}
}

function crossoversOf(
  row: TimedRecord,
  rows: readonly TimedRecord[],
  times: PairedTimes,
): Fit['crossovers'] {
  const exact = exactDecode(row, rows)
  return exact ? decodeCrossover(row, exact, times) : []
}

function whyNoSlope(growth: Growth | null): Fit['no_slope'] {
  if (growth === null) return 'one_length'
  if (!isSettledSlope(growth.slope)) return 'unsettled'
  return growth.bent ? 'bent' : null
}

function decodeFits(rows: readonly TimedRecord[], times: PairedTimes): Fit[] {
  return rows.map(row => ({
    variant: lineLabel(row, rows),
    mode: 'decode',
    shape: shapeOf(row),
    keys: [row.key],
    lengths: (row.result.marks ?? []).map(({tokens}) => tokens),
    slope: null,
    slope_lengths: [],
    no_slope: 'decode',
    r2: null,
    crossovers: crossoversOf(row, rows, times),
  }))
}
