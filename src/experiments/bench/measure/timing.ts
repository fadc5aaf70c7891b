/** The clock of the benchmarks: warm-up, then timed runs until there are enough of them. */

import {RfaError} from '../../../errors.js'
import {finiteOrNull, mean, quantile, tukeyOutliers} from '../../../stats/index.js'
import type {OnStep, YieldTurn} from '../../experiment.js'
import type {BenchResult, OutlierCounts, TimingProtocol} from '../schema.js'
import {ofProcesses, processMedians} from '../times/processes.js'
import {LEAST_FOR_QUARTILES} from '../times/time-estimates.js'
import {startWaiting} from './waiting.js'

/** A clock in nanoseconds; the process's monotonic one unless a test brings its own. */
export type Clock = () => number

/** That of the process, from its start on. A plain number: objects would be garbage between tokens. Reading it takes some 50 ns. */
export const monotonic: Clock = () => Math.round(performance.now() * 1e6)

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
  outlier_counts: OutlierCounts
  waited_ns: number | null
  samples_ns: number[]
  turn_runs: number[]
  process_turns: number[]
}

/** What was timed in a cell, and what it takes in addition to time. */
export type TimedCell = {timing: Timing} & Pick<
  BenchResult,
  'operations' | 'live_bytes' | 'marks' | 'first_token_ns' | 'breakdown'
>

/**
 * Measures how long it waited for others (tests replace it), and other computations to take turns with; default none.
 */
export interface Others {
  /** As {@link startWaiting}. */
  waiting?: typeof startWaiting | undefined
  /** Lets others compute for a while. */
  yieldTurn?: YieldTurn | undefined
  /** Called between turns with the progress. */
  onStep?: OnStep | undefined
  /**
   * Runs that are shorter than this, in ns, are warmed up again in each turn: others have taken the caches meanwhile, and
   * the system perhaps memory that lay idle.
   */
  warmedNs?: number | undefined
}

/** The same with a clock. */
export interface Watches extends Others {
  clock?: Clock
}

/** Turns that the least time of a process is spread over, where that many runs are asked for; a turn has one run at least. */
const TURNS = 8
/** Default of {@link Others.warmedNs}. */
const WARMED_NS = 1e9
/** Steps of the progress. */
const STEPS = 1000

/**
 * Times `run` by the protocol: `warmup_runs` untimed, then timed ones until both `min_runs` and
 * `min_time_ns` are reached, at most `max_runs`; in turns with others, if there are any.
 */
export function timeRuns(
  run: () => void,
  protocol: TimingProtocol,
  {clock = monotonic, ...others}: Watches = {},
): Promise<Timing> {
  const measure = () => {
    const start = clock()
    run()
    return clock() - start
  }
  for (let i = 0; i < protocol.warmup_runs; i++) run()
  return timeMeasured(measure, {...protocol, warmup_runs: 0}, others)
}

/** What is left of a turn. */
export interface Budget {
  /** Most runs, at least one. */
  runs: number
  ns: number
}

/**
 * Makes a run and gives its time in ns; or several runs: one that only warms up, or the number that fits a budget.
 *
 * @param counts - or only warms up
 */
export type Measure = (counts: boolean, left: () => Budget) => number | Promise<readonly number[]>

const ONE_RUN = (): Budget => ({runs: 1, ns: 0})

/**
 * The same of runs that are timed in part: making ready and putting away do not count.
 */
export async function timeMeasured(
  measure: Measure,
  protocol: TimingProtocol,
  others: Others = {},
): Promise<Timing> {
  const {yieldTurn, onStep, warmedNs = WARMED_NS} = others
  for (let i = 0; i < protocol.warmup_runs; i++) await measure(false, ONE_RUN)
  if ((await yieldTurn?.()) === 'none') {
    throw new RfaError('INTERRUPTED', 'interrupted before the first timed run')
  }
  // from here on a turn shows the pace: what came before is done once
  onStep?.(0, STEPS)
  const taken: Taken = {samples: [], turns: [], total: 0, waited: 0}
  while (!(await takeTurn(measure, protocol, taken, others))) {
    onStep?.(Math.floor(STEPS * shareOf(taken, protocol)), STEPS)
    const next = await yieldTurn?.()
    if (next === 'none') break
    if (next === 'after others' && taken.samples.at(-1)! < warmedNs) await measure(false, ONE_RUN)
  }
  const {samples, turns} = taken
  const times = {samples_ns: samples, turn_runs: turns, process_turns: [turns.length]}
  return quoted(times, taken.waited)
}

/** What was measured so far, in ns. */
interface Taken {
  samples: number[]
  /** How many of them each turn took. */
  turns: number[]
  total: number
  waited: number | null
}

/** Times the runs of one turn. @returns whether they were the last */
async function takeTurn(
  measure: Measure,
  {min_runs, max_runs, min_time_ns}: TimingProtocol,
  taken: Taken,
  {waiting = startWaiting, yieldTurn}: Others,
): Promise<boolean> {
  const {samples} = taken
  const before = {runs: samples.length, total: taken.total}
  const turn = taken.turns.length + 1
  // what slow runs took is missing in the turns that follow, which have one run at least
  const isOver = () =>
    samples.length >= (turn / TURNS) * max_runs || taken.total >= (turn / TURNS) * min_time_ns
  const enough = !yieldTurn || turn >= Math.min(TURNS, min_runs)
  const isLast = () =>
    samples.length >= max_runs ||
    (samples.length >= min_runs && taken.total >= min_time_ns && enough)
  const left = (): Budget => {
    const share = yieldTurn ? turn / TURNS : 1
    const runs = Math.min(max_runs, Math.ceil(share * max_runs)) - samples.length
    return {runs: Math.max(1, runs), ns: Math.max(0, share * min_time_ns - taken.total)}
  }
  const waited = waiting()
  do {
    const found = measure(true, left)
    for (const elapsed of typeof found === 'number' ? [found] : await found) {
      samples.push(elapsed)
      taken.total += elapsed
    }
  } while (!isLast() && !(yieldTurn && isOver()))
  taken.turns.push(samples.length - before.runs)
  const now = waited()
  // looking at the threads takes time, too, in which they may wait
  const within = now === null ? null : Math.min(now, taken.total - before.total)
  taken.waited = taken.waited === null || within === null ? null : taken.waited + within
  return isLast()
}

/** How much of what the protocol asks for is done. */
function shareOf({samples, total}: Taken, {min_runs, max_runs, min_time_ns}: TimingProtocol) {
  const least = Math.min(samples.length / min_runs, min_time_ns > 0 ? total / min_time_ns : 1)
  return Math.min(1, Math.max(least, samples.length / max_runs))
}

/** What is quoted of times in the order in which they were measured. */
export function quoted(
  times: Pick<Timing, 'samples_ns' | 'turn_runs' | 'process_turns'>,
  waited_ns: number | null,
): Timing {
  const {samples_ns: samples} = times
  const quartile = (p: number) =>
    samples.length < LEAST_FOR_QUARTILES ? null : quantile(samples, p)
  const {value, low, high} = ofProcesses(processMedians(times))
  const {mild, severe, lowSevere, lowMild, highMild, highSevere} = tukeyOutliers(samples)
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
    outlier_counts: {
      low_severe: lowSevere,
      low_mild: lowMild,
      high_mild: highMild,
      high_severe: highSevere,
    },
    waited_ns,
    ...times,
  }
}
