/** What the lengths of a benchmark say together: speed-ups, growth and crossover. */

import {groupBy} from '../../../../report/groups.js'
import {type Estimate, logLogSlope, type PowerLaw} from '../../../../stats/index.js'
import {variantLabel} from '../../../labels.js'
import {BASELINES} from '../../fields/baselines.js'
import type {TimedRecord} from '../../schema.js'
import type {PairedTimes} from '../../times/paired-times.js'
import {undisturbedOf} from '../../times/time-estimates.js'
import {lineLabel} from './backends.js'
import {type Crossover, crossover} from './crossover.js'

/** The line through the times of one variant at its longest lengths. */
export interface Growth {
  /** The lengths that it goes through, rising. */
  lengths: number[]
  /** Exponent of time in length: 2 for exact attention, 1 for linear. */
  slope: Estimate
  /** Share of the variance of log time that the line explains. */
  r2: number
  /** The line misses the interval of a time: no single slope describes these times. */
  bent: boolean
}

/** How one variant grows with length. */
export interface Trend {
  /** Method, projection, redraw policy and M. */
  label: string
  /** Its records by length. */
  records: readonly TimedRecord[]
  /** `null` for a single length. */
  growth: Growth | null
  /** One per exact form that was timed at the same lengths. */
  crossovers: (Crossover & {baseline: string})[]
}

export type Growing = Trend & {growth: Growth}

/**
 * Baseline's time over the row's at the same length on the same backend, `null` without such a baseline or for the
 * baseline itself.
 *
 * @param all - records of one shape, the baseline's among them
 * @param times - of the whole run
 */
export function speedUp(
  row: TimedRecord,
  all: readonly TimedRecord[],
  baseline: string,
  times: PairedTimes,
): Estimate | null {
  if (row.cell.method === baseline) return null
  const match = all.find(
    ({cell, result}) =>
      cell.method === baseline &&
      cell.seq_len === row.cell.seq_len &&
      result.backend === row.result.backend,
  )
  return match ? times.ratio(match, row) : null
}

/**
 * Trend of each variant.
 *
 * @param rows - records of one shape, sorted by length within each variant
 * @param times - of the whole run
 */
export function trends(rows: readonly TimedRecord[], times: PairedTimes): Trend[] {
  return variantsOf(rows).map(variant => ({
    label: lineLabel(variant[0]!, rows),
    records: variant,
    growth: growthOf(longest(variant), times),
    crossovers: BASELINES.flatMap(baseline => crossoverOf(variant, rows, baseline, times)),
  }))
}

/** The records of each variant. @param rows - of one shape */
export function variantsOf(rows: readonly TimedRecord[]): TimedRecord[][] {
  return groupBy(rows, ({cell, result}) =>
    JSON.stringify([variantLabel(cell), cell.redraw, result.backend]),
  )
}

/** Those of several lengths. */
export function growing(all: readonly Trend[]): Growing[] {
  return all.filter((trend): trend is Growing => trend.growth !== null)
}

/** Octaves of length that a slope is taken over: below, calls and what does not grow weigh on times. */
const OCTAVES = 2
/** Fewest lengths, if there are enough: with two, a line cannot show a bend. */
const LEAST_LENGTHS = 3

/** Records at the lengths that a slope is taken over. @param variant - by length */
export function longest(variant: readonly TimedRecord[]): readonly TimedRecord[] {
  const most = variant.at(-1)!.cell.seq_len
  const top = variant.filter(({cell}) => cell.seq_len >= most / 2 ** OCTAVES)
  return top.length >= LEAST_LENGTHS ? top : variant.slice(-LEAST_LENGTHS)
}

/** `null` for a single length. @param variant - by length */
export function growthOf(variant: readonly TimedRecord[], times: PairedTimes): Growth | null {
  const lengths = variant.map(({cell}) => cell.seq_len)
  if (lengths.length < 2) return null
  const found = variant.map(undisturbedOf)
  const values = found.map(({value}) => value)
  const line = logLogSlope(lengths, values)
  return {
    lengths,
    slope: times.exponent(variant),
    r2: line.r2,
    bent: found.some((time, at) => misses(line, lengths[at]!, time)),
  }
}

function misses({slope, intercept}: PowerLaw, x: number, {low, high}: Estimate): boolean {
  const y = Math.exp(intercept) * x ** slope
  return y < low || y > high
}

/** From which length on the variant stays faster than an exact form; nothing for the exact forms themselves. */
function crossoverOf(
  variant: readonly TimedRecord[],
  rows: readonly TimedRecord[],
  baseline: string,
  times: PairedTimes,
): Trend['crossovers'] {
  if (BASELINES.includes(variant[0]!.cell.method)) return []
  const points = variant.flatMap(row => {
    const gain = speedUp(row, rows, baseline, times)
    return gain === null ? [] : [{length: row.cell.seq_len, gain}]
  })
  return points.length === 0 || variant.length < 2
    ? []
    : [{baseline, ...crossover(points, baseline)}]
}
