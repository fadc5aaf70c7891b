/** How far times can be believed: intervals, and signs of a machine that had other things to do. */

import {SETTLED_FACTOR} from '../../../answers/index.js'
import {type Estimate, mean, median, variance} from '../../../stats/index.js'
import type {TimedRecord} from '../schema.js'
import {
  type InProcesses,
  ofProcesses,
  processMedians,
  processRuns,
  turnMediansByProcess,
  undisturbedTimes,
} from './processes.js'

/** Logarithm that ratios of undisturbed and of usual calls may differ by: beyond, the machine was too busy to tell them. */
export const MOST_APART = Math.log(1.25)

/**
 * Standard deviation of the logarithm of a time that all processes of a run have in common, what moves all times of the run
 * alike left out: of 38 processes of a machine with a spread below 2 %. `npm run bench:repeatability` shows what
 * it is elsewhere (docs/statistics.md).
 */
export const FLOOR = 0.0055

/** Fewest runs that have quartiles: one in each quarter. */
export const LEAST_FOR_QUARTILES = 4

/** Time of a record with its 95 % interval; ends are `NaN` of one process, and of records made before there were several. */
export function medianOf({result}: TimedRecord): Estimate {
  return ofProcesses(processMedians(result))
}

/** What an undisturbed call of a record takes, in ns: what ratios go by. */
export function undisturbedTime(record: TimedRecord): number {
  return undisturbedOf(record).value
}

/** The same with its 95 % interval, as of {@link medianOf}. */
export function undisturbedOf({result}: TimedRecord): Estimate {
  return ofProcesses(undisturbedTimes(result))
}

/** Share of the timed time spent waiting for a processor; `null` where unknown. */
export function waitingShare({result: {samples_ns, waited_ns}}: TimedRecord): number | null {
  const total = samples_ns.reduce((sum, x) => sum + x, 0)
  return waited_ns === null || total === 0 ? null : waited_ns / total
}

/**
 * How much slower the first third of the runs of a process is than the last third, where that is much and holds for other
 * processes, too: a warm-up that was too short.
 */
export function warmingOf({result}: TimedRecord): Estimate | null {
  const ratios = processRuns(result).flatMap(runs => {
    const third = Math.floor(runs.length / 3)
    return third > 0 ? [median(runs.slice(0, third)) / median(runs.slice(-third))] : []
  })
  if (ratios.length < 2) return null
  const found = ofProcesses(ratios)
  return found.low > 1 && found.value > SETTLED_FACTOR ? found : null
}

/** Shares of the variance of a time that more processes, and more runs in each, would lower; `null` where neither is known. */
export interface Levels {
  /** Standard deviation between processes in addition to the noise of their runs, as a share of the time. */
  between: number
  /** The same of the median of a process by the noise of its runs. */
  within: number
}

/** Consecutive runs are not independent: the noise of a process comes from its turns. */
export function levelsOf(times: InProcesses): Levels | null {
  const medians = processMedians(times)
  const turns = turnMediansByProcess(times).filter(({length}) => length > 1)
  if (medians.length < 2 || turns.length === 0) return null
  // the variance of a median is about pi / 2 times that of a mean
  const within = mean(turns.map(own => ((Math.PI / 2) * variance(own.map(Math.log))) / own.length))
  const all = variance(medians.map(Math.log))
  return {between: Math.sqrt(Math.max(0, all - within)), within: Math.sqrt(within)}
}
