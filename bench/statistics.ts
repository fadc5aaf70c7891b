/** From times to the rows of the report. */
import {median} from '../src/stats/index.js'
import {MOST_OF_PEAK, shareOfPeak} from '../src/theory/peak.js'
import type {KernelCase} from './cases.js'
import type {PreparedCase} from './engine.js'
import type {KernelRow, Spread} from './report-schema.js'

/** Times of each engine in nanoseconds; `NaN` where one does not know the case. */
export interface Samples {
  native: number[]
  wasm: number[]
}

/** Median and fastest; the ratios use the fastest, which other load on the machine disturbs least. */
export function spread(times: readonly number[]): Spread | null {
  const known = times.filter(Number.isFinite)
  if (known.length === 0) return null
  return {min_ns: Math.min(...known), median_ns: median(known), runs: known.length}
}

/**
 * The row of a case.
 *
 * @param peak - multiply-adds of one thread, in GFLOP/s
 * @param operations - which of them were fused
 */
export function kernelRow(
  given: KernelCase,
  samples: Samples,
  peak: number,
  operations: PreparedCase['operations'],
): KernelRow {
  const native = spread(samples.native)
  if (native === null) throw new RangeError(`${given.name}: expected times, got none`)
  const wasm = spread(samples.wasm)
  const {kind: _kind, ...facts} = given
  const {flops} = given
  const share = flops === null ? null : shareOfPeak({flops, ns: native.min_ns, threads: 1}, peak)
  return {
    ...facts,
    operations,
    ...{native, wasm},
    gflops: flops === null ? null : flops / native.min_ns,
    fma_peak_gflops: peak,
    peak_pct: share === null ? null : 100 * share,
    wasm_over_native: wasm && wasm.min_ns / native.min_ns,
  }
}

/** A sentence for every kernel with an impossible share of the peak. */
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
