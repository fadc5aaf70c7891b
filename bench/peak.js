/** Figures that cannot be: more multiply-adds than the processor can do. */
import {MOST_OF_PEAK} from '../dist/src/theory/peak.js'

/** A sentence for every kernel whose share of the peak is impossible. @param rows - with `name`, `length`, `peak_pct` */
export function impossibleRows(rows) {
  const most = 100 * MOST_OF_PEAK
  return rows
    .filter(({peak_pct}) => peak_pct !== null && peak_pct > most)
    .map(({name, length, peak_pct}) => {
      const label = length ? `${name} L=${length}` : name
      return `${label}: expected at most ${most} % of the multiply-add peak, got ${peak_pct.toFixed(1)} %: that peak or the work that is counted is wrong`
    })
}
