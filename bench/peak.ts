/** Figures that cannot be: more multiply-adds than the processor can do. */
import {MOST_OF_PEAK} from '../src/theory/peak.js'
import type {KernelRow} from './report-schema.js'

/** A sentence for every kernel whose share of the peak is impossible. */
export function impossibleRows(
  rows: readonly Pick<KernelRow, 'name' | 'length' | 'peak_pct'>[],
): string[] {
  const most = 100 * MOST_OF_PEAK
  return rows.flatMap(({name, length, peak_pct}) => {
    if (peak_pct === null || peak_pct <= most) return []
    const label = length === undefined ? name : `${name} L=${length}`
    const got = `${peak_pct.toFixed(1)} %: that peak or the work that is counted is wrong`
    return [`${label}: expected at most ${most} % of the multiply-add peak, got ${got}`]
  })
}
