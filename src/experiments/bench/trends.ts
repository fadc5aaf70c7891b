/** What the lengths of a benchmark say together: speed-ups, growth and crossover. */

import {groupBy} from '../../report/groups.js'
import {type Estimate, logLogSlope, type PowerLaw} from '../../stats/index.js'
import {variantLabel} from '../labels.js'
import {BASELINES} from './baselines.js'
import {crossover} from './crossover.js'
import {medianOf, timeExponent, timeRatio} from './noise.js'
import type {TimedRecord} from './schema.js'

/** How one variant grows with length. */
export interface Trend {
  /** Method, projection, redraw policy and M. */
  label: string
  /** The measured range, e.g. `128..4096`. */
  lengths: string
  /** Exponent of time in length: 2 for exact attention, 1 for linear. */
  slope: Estimate
  /** Share of the variance of log time that the line explains. */
  r2: number
  /** A median whose interval the line misses: no one slope describes these times. */
  bent: boolean
  /** Sentences that continue the label, one per exact form. */
  crossovers: string[]
}

/**
 * Baseline's time over the row's at the same length, `null` without such a baseline or for the
 * baseline itself.
 *
 * @param all - records of one shape, the baseline's among them
 */
export function speedUp(
  row: TimedRecord,
  all: readonly TimedRecord[],
  baseline: string,
): Estimate | null {
  if (row.cell.method === baseline) return null
  const match = all.find(({cell}) => cell.method === baseline && cell.seq_len === row.cell.seq_len)
  return match ? timeRatio(match, row) : null
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
    const medians = variant.map(medianOf)
    const line = logLogSlope(
      lengths,
      medians.map(({value}) => value),
    )
    return [
      {
        label: labelOf(variant[0]!),
        lengths: `${lengths[0]}..${lengths.at(-1)}`,
        slope: timeExponent(variant),
        r2: line.r2,
        bent: medians.some((median, at) => misses(line, lengths[at]!, median)),
        crossovers: BASELINES.flatMap(baseline => crossoverOf(variant, rows, baseline)),
      },
    ]
  })
}

function misses({slope, intercept}: PowerLaw, x: number, {low, high}: Estimate): boolean {
  const y = Math.exp(intercept) * x ** slope
  return y < low || y > high
}

/** A variant in one line: everything that tells it from the others in a chart. */
function labelOf({cell}: TimedRecord): string {
  return variantLabel(cell, cell.redraw === 'fixed' ? [] : [`redraw ${cell.redraw}`])
}

/** From which length on the variant stays faster than an exact form; nothing for the exact forms themselves. */
function crossoverOf(
  variant: readonly TimedRecord[],
  rows: readonly TimedRecord[],
  baseline: string,
): string[] {
  if (BASELINES.includes(variant[0]!.cell.method)) return []
  const points = variant.flatMap(row => {
    const gain = speedUp(row, rows, baseline)
    return gain === null ? [] : [{length: row.cell.seq_len, gain}]
  })
  return points.length === 0 ? [] : [crossover(points, baseline)]
}
