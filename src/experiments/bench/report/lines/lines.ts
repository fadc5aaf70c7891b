/** A benchmark as lines of its first screen: a variant each, with its times and its speed over the fastest exact form. */
import {groupBy} from '../../../../report/groups.js'
import type {Estimate} from '../../../../stats/index.js'
import {methodLabel, projectionLabel} from '../../../labels.js'
import {BASELINES, PASS_THROUGH} from '../../fields/baselines.js'
import type {TimedRecord} from '../../schema.js'
import type {PairedTimes} from '../../times/paired-times.js'
import {undisturbedTime} from '../../times/time-estimates.js'
import {backendMarks, backendsOf} from './backends.js'
import {type Crossover, crossover} from './crossover.js'
import {decodeTo} from './decode-to.js'
import {type Growth, growthOf, longest, variantsOf} from './trends.js'

/** A variant. */
export interface Line {
  /** Its name among the lines. */
  name: string
  /** `yardstick`: has no attention. */
  kind: 'exact' | 'method' | 'yardstick'
  backend: string
  /** Its cells; of a decode one. */
  records: readonly TimedRecord[]
  /** By length, or by the tokens so far. */
  times: ReadonlyMap<number, TimedRecord>
  /** Time of the fastest exact form of the same backend over its own, where both were measured. */
  gains: ReadonlyMap<number, Estimate>
  /** `null`: a decode, or one length. */
  growth: Growth | null
  /** Against the fastest exact form of each length; `null`: an exact form, one length, or one process. */
  crossover: Crossover | null
}

export interface Shape {
  lines: readonly Line[]
  /** Lengths, or tokens so far, rising. */
  lengths: readonly number[]
  /** What all variants have in common, such as `M=64`. */
  shared: readonly string[]
}

/** @param rows - of one shape, in order @param times - of the whole run */
export function shapeLines(rows: readonly TimedRecord[], times: PairedTimes): Shape {
  const {shared, nameOf} = namesOf(rows)
  const variants = variantsOf(rows).map(records => ({records, marks: marksOf(records)}))
  const all = variants.flatMap(({marks}) => marks)
  const lines = variants.map(({records, marks}): Line => {
    const first = records[0]!
    const {method} = first.cell
    const kind = BASELINES.includes(method)
      ? 'exact'
      : method === PASS_THROUGH
        ? 'yardstick'
        : 'method'
    const points = marks.flatMap(row => {
      const exact = fastestExact(all, row)
      const gain = exact && (exact === row ? ITSELF : times.ratio(exact, row))
      return gain ? [{length: row.cell.seq_len, gain}] : []
    })
    const known = points.some(({gain}) => !Number.isNaN(gain.low))
    const crosses = kind === 'method' && points.length > 1 && known
    return {
      name: nameOf(first),
      ...{kind, backend: first.result.backend, records},
      times: new Map(marks.map(row => [row.cell.seq_len, row])),
      gains: new Map(points.map(({length, gain}) => [length, gain])),
      growth: first.cell.mode === 'decode' ? null : growthOf(longest(records), times),
      crossover: crosses ? crossover(points, 'exact attention') : null,
    }
  })
  return {lines, lengths: lengthsOf(rows), shared}
}

const ITSELF: Estimate = {value: 1, low: 1, high: 1}

/** A record for each length, or for each number of tokens that a decode was looked at. */
function marksOf(records: readonly TimedRecord[]): TimedRecord[] {
  return records.flatMap(record =>
    record.cell.mode === 'decode'
      ? (record.result.marks ?? []).flatMap(({tokens}) => decodeTo(record, tokens) ?? [])
      : [record],
  )
}

function lengthsOf(rows: readonly TimedRecord[]): number[] {
  const all = rows.flatMap(({cell}) => cell.lengths ?? [cell.seq_len])
  return [...new Set(all)].sort((a, b) => a - b)
}

/** Of the same length on the same backend. */
export function fastestExact(
  all: readonly TimedRecord[],
  {cell, result}: TimedRecord,
): TimedRecord | undefined {
  const exact = all.filter(
    other =>
      BASELINES.includes(other.cell.method) &&
      other.cell.seq_len === cell.seq_len &&
      other.result.backend === result.backend,
  )
  return exact.toSorted((a, b) => undisturbedTime(a) - undisturbedTime(b))[0]
}

/** Names without what all variants that draw have in common. */
function namesOf(rows: readonly TimedRecord[]): {
  shared: string[]
  nameOf: (row: TimedRecord) => string
} {
  const facts: readonly ((row: TimedRecord) => string | null)[] = [
    ({cell}) => projectionLabel(cell),
    ({cell}) =>
      cell.redraw === 'fixed' || cell.projection === null ? null : `redraw ${cell.redraw}`,
    ({cell}) => (cell.num_features === null ? null : `M=${cell.num_features}`),
  ]
  const parts = facts.map(of => {
    const known = new Set(rows.map(of))
    known.delete(null)
    return {of, common: known.size === 1 ? [...known][0]! : null}
  })
  const own = parts.filter(({common}) => common === null)
  return {
    shared: parts.flatMap(({common}) => common ?? []),
    nameOf: row =>
      [
        methodLabel(row.cell),
        ...own.flatMap(({of}) => of(row) ?? []),
        ...backendMarks(row, rows),
      ].join(' '),
  }
}

/** Lines by backend, in the order of preference. */
export function linesByBackend({lines}: Shape): Line[][] {
  const order = backendsOf(lines.flatMap(({records}) => records))
  return groupBy(lines, ({backend}) => backend).toSorted(
    ([a], [b]) => order.indexOf(a!.backend) - order.indexOf(b!.backend),
  )
}
