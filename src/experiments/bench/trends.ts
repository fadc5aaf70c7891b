/** What the lengths of a benchmark say together: speed-ups, growth and crossover. */

import {groupBy} from '../../report/groups.js'
import {significant} from '../../report/numbers.js'
import {logLogSlope} from '../../stats/fits.js'
import {variantLabel} from '../labels.js'
import {BASELINES} from './baselines.js'
import type {TimedRecord} from './schema.js'

/** How one variant grows with length. */
export interface Trend {
  /** Method, projection, redraw policy and M. */
  label: string
  /** The measured range, e.g. `128..4096`. */
  lengths: string
  /** Exponent of time in length: 2 for exact attention, 1 for linear. */
  slope: number
  /** Share of the variance of log time that the line explains. */
  r2: number
  /** Sentences that continue the label, one per exact form. */
  crossovers: string[]
}

/**
 * Baseline's median over the row's at the same length, `null` without such a baseline or for the
 * baseline itself.
 *
 * @param all - records of one shape, the baseline's among them
 */
export function speedUp(
  row: TimedRecord,
  all: readonly TimedRecord[],
  baseline: string,
): number | null {
  if (row.cell.method === baseline) return null
  const match = all.find(({cell}) => cell.method === baseline && cell.seq_len === row.cell.seq_len)
  return match ? match.result.median_ns / row.result.median_ns : null
}

/**
 * Trend of each variant that was measured at two lengths or more.
 *
 * @param rows - records of one shape, sorted by length within each variant
 */
export function trends(rows: readonly TimedRecord[]): Trend[] {
  const variants = groupBy(rows, ({cell}) => JSON.stringify([variantLabel(cell), cell.redraw]))
  return variants.flatMap(variant => {
    const lengths = variant.map(({cell}) => cell.seq_len)
    if (lengths.length < 2) return []
    const {slope, r2} = logLogSlope(
      lengths,
      variant.map(({result}) => result.median_ns),
    )
    return [
      {
        label: labelOf(variant[0]!),
        lengths: `${lengths[0]}..${lengths.at(-1)}`,
        slope,
        r2,
        crossovers: BASELINES.flatMap(baseline => crossover(variant, rows, baseline)),
      },
    ]
  })
}

/** A variant in one line: everything that tells it from the others in a chart. */
function labelOf({cell}: TimedRecord): string {
  return variantLabel(cell, cell.redraw === 'fixed' ? [] : [`redraw ${cell.redraw}`])
}

/** From which length on the variant stays faster than an exact form, as measured. */
function crossover(
  variant: readonly TimedRecord[],
  rows: readonly TimedRecord[],
  baseline: string,
): string[] {
  if (BASELINES.includes(variant[0]!.cell.method)) return []
  const points = variant.flatMap(row => {
    const gain = speedUp(row, rows, baseline)
    return gain === null ? [] : [{length: row.cell.seq_len, gain}]
  })
  const [first] = points
  const last = points.at(-1)
  if (!first || !last) return []
  const lastSlower = points.findLastIndex(({gain}) => gain <= 1)
  if (lastSlower === -1) return [`is faster than ${baseline} at every length from ${first.length}`]
  const slower = points[lastSlower]!
  const faster = points[lastSlower + 1]
  if (!faster) return [`is not faster than ${baseline} up to L=${last.length}`]
  return [
    `is faster than ${baseline} from about L=${significant(crossing(slower, faster), 2)} on (between ${slower.length} and ${faster.length})`,
  ]
}

/** Speed-up over an exact form at one length. */
interface Point {
  length: number
  gain: number
}

/** Where the speed-up passes 1, on the straight line between two points in log-log axes. */
function crossing(below: Point, above: Point): number {
  const share = -Math.log(below.gain) / (Math.log(above.gain) - Math.log(below.gain))
  return below.length * (above.length / below.length) ** share
}
