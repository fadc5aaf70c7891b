/** Multiply-adds as a limit: no forward can do more of them than the processor. */

/** A share of the peak beyond this is an error; the rest is a clock that changes between measurements. */
export const MOST_OF_PEAK = 1.05

/** Work that was done in a time. */
export interface Work {
  /** Floating-point operations, a multiply-add counting two. */
  flops: number
  /** Fastest time, in nanoseconds. */
  ns: number
  /** Threads that did it; their peaks add up, at most. */
  threads: number
}

/**
 * Rate over that of `threads` times the peak: `flops / ns / (threads peak)`.
 *
 * @param peak - of one thread, in GFLOP/s; `null` where unknown
 * @returns a share, above {@link MOST_OF_PEAK} only where the work or the peak is wrong; `null` without a peak
 */
export function shareOfPeak({flops, ns, threads}: Work, peak: number | null): number | null {
  return peak !== null && peak > 0 && ns > 0 ? flops / ns / (threads * peak) : null
}
