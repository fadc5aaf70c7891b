/** The clock of the benchmarks: warm-up, then timed runs until there are enough of them. */

import {mean, quantile, tukeyOutliers} from '../../stats/index.js'
import type {TimingProtocol} from './schema.js'

/** Times of single runs and what is quoted of them, in nanoseconds. */
export interface Timing {
  runs: number
  median_ns: number
  q1_ns: number
  q3_ns: number
  min_ns: number
  mean_ns: number
  outliers: number
  samples_ns: number[]
}

/** A clock in nanoseconds; the process's monotonic one unless a test brings its own. */
export type Clock = () => number

const monotonic: Clock = () => Number(process.hrtime.bigint())

/**
 * Times `run` by the protocol: `warmup_runs` untimed, then timed ones until both `min_runs` and
 * `min_time_ns` are reached, at most `max_runs`.
 */
export function timeRuns(
  run: () => void,
  protocol: TimingProtocol,
  clock: Clock = monotonic,
): Timing {
  for (let i = 0; i < protocol.warmup_runs; i++) run()
  const samples: number[] = []
  let total = 0
  while (samples.length < protocol.max_runs) {
    if (samples.length >= protocol.min_runs && total >= protocol.min_time_ns) break
    const start = clock()
    run()
    const elapsed = clock() - start
    samples.push(elapsed)
    total += elapsed
  }
  const sorted = [...samples].sort((a, b) => a - b)
  return {
    runs: samples.length,
    median_ns: quantile(sorted, 0.5),
    q1_ns: quantile(sorted, 0.25),
    q3_ns: quantile(sorted, 0.75),
    min_ns: sorted[0]!,
    mean_ns: mean(samples),
    outliers: tukeyOutliers(sorted),
    samples_ns: samples,
  }
}
