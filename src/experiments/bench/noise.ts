/** How far times can be believed: intervals, what is unsettled, and signs of a machine that had other things to do. */

import {
  dependence,
  type Estimate,
  factorOf,
  hodgesLehmann,
  LEAST_FOR_INTERVAL,
  mapped,
  median,
  normalQuantile,
  type Outliers,
  quantile,
  ratioOf,
  seriesMedianInterval,
  slopeEstimate,
  tukeyOutliers,
} from '../../stats/index.js'
import type {TimedRecord} from './schema.js'
import {exponentParts, LEAST_TURNS, logTimesByTurn, type Weighted} from './turns.js'

/**
 * A ratio is told where its 95 % interval lies within this factor of it, to either side. Two benchmarks then tell ratios
 * that differ, but for one case in twenty, by less than 1.25^sqrt(2) = 1.37.
 */
export const SETTLED_FACTOR = 1.25
/** A slope is told where its 95 % interval ends within this distance: 1 and 2, linear and quadratic, stay apart. */
export const SETTLED_SLOPE = 0.25

/** Fewest runs that have quartiles: one in each quarter. */
export const LEAST_FOR_QUARTILES = 4

/** Whether a ratio, or a time, is known well enough to be told as a number. */
export function isSettled(estimate: Estimate): boolean {
  return factorOf(estimate) <= SETTLED_FACTOR
}

/** The same of a slope. */
export function isSettledSlope({value, low, high}: Estimate): boolean {
  return Math.max(high - value, value - low) <= SETTLED_SLOPE
}

/**
 * Median of the times of runs, with an interval of 95 % for what a machine with nothing else to do would have shown. The
 * upper end is that of {@link seriesMedianInterval}; the lower one is lower by the share of the time in which the process
 * waited for a processor, less what outliers explain: waiting is no time of the method, and may hide in every run.
 * Differences between processes are not in it: see {@link medianOf}.
 *
 * @param samples - times in the order in which they were measured, in ns
 * @param waited - time that the process waited meanwhile, in ns; `null` where unknown
 * @param turns - how many runs each turn took, where there were turns
 * @returns ends are `NaN` below {@link LEAST_FOR_INTERVAL} runs
 */
export function medianOfRuns(
  samples: readonly number[],
  waited: number | null,
  turns: readonly number[] = [],
): Estimate {
  const {low, high} = seriesMedianInterval(samples, turns)
  return {value: median(samples), low: low * (1 - hiddenShare(samples, waited)), high}
}

/**
 * What medians of one cell are taken to differ by between fresh processes (places in memory, compiled code, how fast threads
 * wake), as a standard deviation. A rough figure for every machine: in three quick benchmarks on one, calls of 0.2 to 1 ms on two
 * threads differed by 30 to 70 us, longer ones by 2 to 4 % (AMD EPYC, Zen 5, two processors).
 */
const BETWEEN_PROCESSES = {ns: 45e3, share: 0.03}

/** Half the width of a 95 % interval for the logarithm of another process's median. */
function betweenProcesses(median_ns: number): number {
  return reachOf(Math.hypot(BETWEEN_PROCESSES.ns / median_ns, BETWEEN_PROCESSES.share))
}

/** {@link medianOfRuns} of a record, with an interval for what another process would have measured, too. */
export function medianOf(record: TimedRecord): Estimate {
  const {samples_ns, waited_ns, turn_runs} = record.result
  return within(medianOfRuns(samples_ns, waited_ns, turn_runs), betweenRecords(record))
}

/** What another process would have measured differs by this, as {@link reachOf}. */
function betweenRecords({cell, result}: TimedRecord): number {
  return cell.mode === 'decode' ? reachOf(BETWEEN_DECODES) : betweenProcesses(result.median_ns)
}

/**
 * The same of decodes, whose tokens wake no thread. A rough figure: the fastest runs of eight processes each differed by 2 to 9 %
 * of the time to 25, 100, 512 or 1024 tokens (one standard deviation, same machine, other programs beside).
 */
const BETWEEN_DECODES = 0.05

/** A time of a decode in ns with the interval of its runs, and one for what another process would have measured, too. */
export function ofAnotherProcess(value: number, low: number | null, high: number | null): Estimate {
  const estimate = {value, low: low ?? Number.NaN, high: high ?? Number.NaN}
  return within(estimate, reachOf(BETWEEN_DECODES))
}

/** Half the width of a 95 % interval for the logarithm of a time. @param spread - one standard deviation, as a share */
function reachOf(spread: number): number {
  return Math.log(1 + normalQuantile(0.975) * spread)
}

/** @param between - what processes differ by, as {@link reachOf} */
function within({value, low, high}: Estimate, between: number): Estimate {
  const factor = (own: number) => Math.exp(Math.hypot(Math.log(own), between))
  return {value, low: value / factor(value / low), high: value * factor(high / value)}
}

/**
 * Centre of what turns say one after the other, with an interval of 95 % by signed ranks, which take turns for independent: it is
 * stretched by the root of their dependence.
 *
 * @param values - one per turn, in order
 */
export function turnsInterval(values: Float64Array): Estimate {
  const {value, low, high} = hodgesLehmann(values)
  const stretch = Math.sqrt(dependence(values))
  return {value, low: value - stretch * (value - low), high: value + stretch * (high - value)}
}

/** A product of powers of times, as a logarithm, from turns; `null` where there were too few of them. */
function byTurns(parts: readonly Weighted[]): Estimate | null {
  const logs = logTimesByTurn(parts)
  if (logs.length < LEAST_TURNS) return null
  const {value, low, high} = turnsInterval(logs)
  const between = Math.hypot(...parts.map(({record, weight}) => weight * betweenRecords(record)))
  return {
    value,
    low: value - Math.hypot(value - low, between),
    high: value + Math.hypot(high - value, between),
  }
}

/** Time of one record over that of another: turn by turn where both took turns, else of medians. */
export function timeRatio(above: TimedRecord, below: TimedRecord): Estimate {
  const logs = byTurns([
    {record: above, weight: 1},
    {record: below, weight: -1},
  ])
  return logs ? mapped(logs, Math.exp) : ratioOf(medianOf(above), medianOf(below))
}

/** Exponent of time in length, in the same ways. @param records - at least two lengths */
export function timeExponent(records: readonly TimedRecord[]): Estimate {
  const lengths = records.map(({cell}) => cell.seq_len)
  return byTurns(exponentParts(records)) ?? slopeEstimate(lengths, records.map(medianOf))
}

/** Share of the time of ordinary runs in which the process may have waited for a processor, from 0 to 1. */
function hiddenShare(samples: readonly number[], waited: number | null): number {
  const middle = median(samples)
  const [q1, q3] = [quantile(samples, 0.25), quantile(samples, 0.75)]
  const fence = q3 + 1.5 * (q3 - q1)
  const total = samples.reduce((sum, x) => sum + x, 0)
  const explained = samples.reduce((sum, x) => sum + (x > fence ? x - middle : 0), 0)
  const hidden = Math.max(0, (waited ?? 0) - explained)
  return total > explained ? Math.min(1, hidden / (total - explained)) : 0
}

/** Share of outliers among runs from which on they are many; of normal times less than 1 % lie so far out. */
const MANY_OUTLIERS = 0.1
/** Share of the timed time that a process may wait for a processor before the machine counts as busy. */
export const BUSY = 0.05
/** Runs of which the first third and the last one have intervals. */
const LEAST_FOR_DRIFT = 3 * LEAST_FOR_INTERVAL

/** What is odd about the runs of a cell. */
export interface Oddities {
  /** Where they are many. */
  outliers: (Pick<Outliers, 'mild' | 'severe'> & {runs: number; slowest: number}) | null
  /** Share of the timed time spent waiting for a processor, where that is much. */
  waiting: number | null
  /** Medians of the first and the last third of the runs in ns, where they differ for certain. */
  drift: {first: number; last: number} | null
}

/** Looks for signs that the times of a cell depend on more than its method. */
export function odditiesOf(record: TimedRecord): Oddities {
  const {samples_ns} = record.result
  const waiting = waitingShare(record)
  return {
    outliers: manyOutliers(samples_ns),
    waiting: waiting !== null && waiting > BUSY ? waiting : null,
    drift: driftOf(samples_ns),
  }
}

/** Share of the timed time spent waiting for a processor; `null` where unknown. */
export function waitingShare({result: {samples_ns, waited_ns}}: TimedRecord): number | null {
  const total = samples_ns.reduce((sum, x) => sum + x, 0)
  return waited_ns === null || total === 0 ? null : waited_ns / total
}

function manyOutliers(samples: readonly number[]): Oddities['outliers'] {
  const {mild, severe} = tukeyOutliers(samples)
  const runs = samples.length
  if (mild + severe <= MANY_OUTLIERS * runs) return null
  const slowest = samples.reduce((top, x) => Math.max(top, x), 0) / median(samples)
  return {mild, severe, runs, slowest}
}

/** Differences within {@link SETTLED_FACTOR} are no harm: medians with such intervals are told, too. */
function driftOf(samples: readonly number[]): Oddities['drift'] {
  if (samples.length < LEAST_FOR_DRIFT) return null
  const third = Math.floor(samples.length / 3)
  const [first, last] = [samples.slice(0, third), samples.slice(-third)].map(part => ({
    value: median(part),
    ...seriesMedianInterval(part),
  })) as [Estimate, Estimate]
  const apart = first.low > last.high || last.low > first.high
  const factor = Math.max(first.value / last.value, last.value / first.value)
  return apart && factor > SETTLED_FACTOR ? {first: first.value, last: last.value} : null
}
