/** The clock of the benchmarks: warm-up, then timed runs until there are enough of them. */

import {finiteOrNull, mean, quantile, tukeyOutliers} from '../../stats/index.js'
import {LEAST_FOR_QUARTILES, medianOfRuns} from './noise.js'
import type {BenchResult, TimingProtocol} from './schema.js'
import {startWaiting} from './waiting.js'

/** Times of single runs and what is quoted of them, in nanoseconds. */
export interface Timing {
  runs: number
  median_ns: number
  median_low_ns: number | null
  median_high_ns: number | null
  q1_ns: number | null
  q3_ns: number | null
  min_ns: number
  mean_ns: number
  outliers: number
  severe_outliers: number
  waited_ns: number | null
  samples_ns: number[]
}

/** What was timed in a cell, and what it takes beside time. */
export type TimedCell = {timing: Timing} & Pick<
  BenchResult,
  'operations' | 'live_bytes' | 'marks' | 'first_token_ns'
>

/** A clock in nanoseconds; the process's monotonic one unless a test brings its own. */
export type Clock = () => number

const monotonic: Clock = () => Number(process.hrtime.bigint())

/** What tells the time; a test brings its own. */
export interface Watches {
  clock?: Clock
  /** As {@link startWaiting}. */
  waiting?: typeof startWaiting | undefined
}

/**
 * Times `run` by the protocol: `warmup_runs` untimed, then timed ones until both `min_runs` and
 * `min_time_ns` are reached, at most `max_runs`.
 */
export function timeRuns(
  run: () => void,
  protocol: TimingProtocol,
  {clock = monotonic, waiting}: Watches = {},
): Timing {
  const measure = () => {
    const start = clock()
    run()
    return clock() - start
  }
  for (let i = 0; i < protocol.warmup_runs; i++) run()
  return timeMeasured(measure, {...protocol, warmup_runs: 0}, {waiting})
}

/**
 * The same of runs that are timed in part: making ready and putting away do not count.
 *
 * @param measure - makes a run and gives its time in ns
 */
export function timeMeasured(
  measure: () => number,
  protocol: TimingProtocol,
  {waiting = startWaiting}: Pick<Watches, 'waiting'> = {},
): Timing {
  for (let i = 0; i < protocol.warmup_runs; i++) measure()
  const samples: number[] = []
  let total = 0
  const waited = waiting()
  while (samples.length < protocol.max_runs) {
    if (samples.length >= protocol.min_runs && total >= protocol.min_time_ns) break
    const elapsed = measure()
    samples.push(elapsed)
    total += elapsed
  }
  return quoted(samples, waited())
}

/** What is quoted of times in the order in which they were measured. */
export function quoted(samples: number[], waited_ns: number | null): Timing {
  const quartile = (p: number) =>
    samples.length < LEAST_FOR_QUARTILES ? null : quantile(samples, p)
  const {value, low, high} = medianOfRuns(samples, waited_ns)
  const {mild, severe} = tukeyOutliers(samples)
  return {
    runs: samples.length,
    median_ns: value,
    median_low_ns: finiteOrNull(low),
    median_high_ns: finiteOrNull(high),
    q1_ns: quartile(0.25),
    q3_ns: quartile(0.75),
    min_ns: samples.reduce((least, x) => Math.min(least, x), Number.POSITIVE_INFINITY),
    mean_ns: mean(samples),
    outliers: mild + severe,
    severe_outliers: severe,
    waited_ns,
    samples_ns: samples,
  }
}
