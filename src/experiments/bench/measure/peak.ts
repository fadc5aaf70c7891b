import {loadAddon} from '../../../backends/native/loader.js'

/** Seconds of one measurement, which is the best of many runs of half a millisecond. */
const SECONDS = 0.01

/**
 * Float32 multiply-add peak of one thread, in GFLOP/s, on the widest vectors of the processor; `null`
 * without the addon. What else runs on the machine can only lower it: the best of several measurements around
 * a timing is the one to hold that against.
 */
export function measurePeak(): number | null {
  const result = loadAddon()
  return 'addon' in result ? result.addon.fmaPeak(SECONDS) : null
}

/** The best of measurements, `null` where none was made. */
export function bestPeak(peaks: readonly (number | null)[]): number | null {
  const known = peaks.filter(peak => peak !== null)
  return known.length > 0 ? Number(Math.max(...known).toPrecision(4)) : null
}
