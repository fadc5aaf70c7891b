/** Backends compared: which one computed a row, and how it compares with another. */
import type {ColumnSpec} from '../../../../report/document.js'
import type {Estimate} from '../../../../stats/index.js'
import {variantLabel} from '../../../labels.js'
import {COMPUTERS} from '../../fields/peers.js'
import type {TimedRecord} from '../../schema.js'
import type {PairedTimes} from '../../times/paired-times.js'
import {ratioText} from './variants.js'

/** Backends and peers that computed these, in that order. */
export function backendsOf(rows: readonly TimedRecord[]): string[] {
  const present = new Set<string>(rows.map(({result}) => result.backend))
  return COMPUTERS.filter(name => present.has(name))
}

/** The rows of each backend, in that order. */
export function byBackend(rows: readonly TimedRecord[]): TimedRecord[][] {
  return backendsOf(rows).map(name => rows.filter(({result}) => result.backend === name))
}

/** The backend of a row, if its table has several. @param all - of the table */
export function backendMarks({result}: TimedRecord, all: readonly TimedRecord[]): string[] {
  return backendsOf(all).length > 1 ? [`on ${result.backend}`] : []
}

/** A variant in one line: all that distinguishes it from others. @param all - of the table or the figure */
export function lineLabel(row: TimedRecord, all: readonly TimedRecord[]): string {
  const {redraw} = row.cell
  const variant = variantLabel(row.cell, redraw === 'fixed' ? [] : [`redraw ${redraw}`])
  return [variant, ...backendMarks(row, all)].join(' ')
}

/** A time of the first backend over that of the row, for the same cell; `null` without one, or for that backend itself. */
export function backendGain(
  row: TimedRecord,
  all: readonly TimedRecord[],
  times: PairedTimes,
  timeOf: (row: TimedRecord) => TimedRecord | undefined = one => one,
): Estimate | null {
  const [first] = backendsOf(all)
  if (row.result.backend === first) return null
  const same = all.find(other => other.result.backend === first && sameCell(other, row))
  const [above, below] = [same && timeOf(same), timeOf(row)]
  return above && below ? times.ratio(above, below) : null
}

function sameCell({cell: a}: TimedRecord, {cell: b}: TimedRecord): boolean {
  return a.seq_len === b.seq_len && a.redraw === b.redraw && variantLabel(a) === variantLabel(b)
}

/** Who computed a row: no column where there is one. */
export function backendName(all: readonly TimedRecord[]): ColumnSpec<TimedRecord>[] {
  if (backendsOf(all).length < 2) return []
  return [{title: 'backend', align: 'left', cell: ({result}) => result.backend}]
}

/** Who computed a row and how many times faster than the first backend: no columns where there is one. */
export function backendColumns(
  all: readonly TimedRecord[],
  times: PairedTimes,
  timeOf?: (row: TimedRecord) => TimedRecord | undefined,
): {name: ColumnSpec<TimedRecord>[]; gain: ColumnSpec<TimedRecord>[]} {
  const [first, ...others] = backendsOf(all)
  if (others.length === 0) return {name: [], gain: []}
  const gain = (row: TimedRecord) => backendGain(row, all, times, timeOf)
  return {name: backendName(all), gain: [{title: `vs ${first}`, cell: row => ratioText(gain(row))}]}
}
