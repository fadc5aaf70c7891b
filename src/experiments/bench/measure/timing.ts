/** The clock of the benchmarks: warm-up, then timed runs until there are enough of them. */

import {RfaError} from '../../../errors.js'
import {finiteOrNull, mean, quantile, tukeyOutliers} from '../../../stats/index.js'
import type {OnStep, YieldTurn} from '../../experiment.js'
import type {BenchResult, OutlierCounts, TimingProtocol} from '../schema.js'
import {ofProcesses, processMedians} from '../times/processes.js'
import {LEAST_FOR_QUARTILES} from '../times/time-estimates.js'
import {type startRunWait, startWaiting} from './waiting.js'

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
  run_waits_ns: number[]
  turn_runs: number[]
  process_turns: number[]
}

/** What was timed in a cell, and what it takes in addition to time. */
export type TimedCell = {timing: Timing} & Pick<
  BenchResult,
  'operations' | 'live_bytes' | 'marks' | 'first_token_ns' | 'breakdown'
> & {
    /** Where it draws what it computes with. */
    projection_ns?: number | null
    /** Where it is not attention alone. */
    work_flops?: number
  }

/**
 * Measures how long it waited for others (tests replace it), and other computations to take turns with; default none.
 */
export interface Others {
  /** As {@link startWaiting}. */
  waiting?: typeof startWaiting | undefined
  /** As {@link startRunWait}, where the main thread computes alone. Default: runs are not looked at. */
  runWait?: typeof startRunWait | undefined
  /** Lets others compute for a while. */
  yieldTurn?: YieldTurn | undefined
  /** Called between turns with the progress. */
  onStep?: OnStep | undefined
  /**
   * Where runs are shorter than this, in ns, the first one of a turn after others does not count: others have taken the
   * caches meanwhile, and the system perhaps memory that lay idle.
   */
  warmedNs?: number | undefined
}

/** The same with a clock. */
export interface Watches extends Others {
  clock?: Clock
}

/** Fewest turns of a process, where that many runs are asked for; a turn has one run at least. */
const TURNS = 8
/** What a turn lasts at most, in ns of {@link computed} time: then other cells have theirs. */
const TURN_NS = 8e6
/** Runs of at least this are looked at one by one: looking takes some 50 us, and a shorter run seldom loses its processor. */
const LOOKED_AT_NS = 1e6
/** Default of {@link Others.warmedNs}. */
const WARMED_NS = 1e9
/** Steps of the progress. */
const STEPS = 1000

/**
 * Times `run` by the protocol: `warmup_runs` that do not count, then timed ones until both `min_runs` and
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
  return timeMeasured(measure, protocol, others)
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
/** No limit: the number of runs is one. */
const FOREVER_NS = Number.MAX_SAFE_INTEGER

/** The same of runs that are timed in part: making ready and putting away do not count. */
export async function timeMeasured(
  measure: Measure,
  protocol: TimingProtocol,
  others: Others = {},
): Promise<Timing> {
  const {yieldTurn, onStep, warmedNs = WARMED_NS, runWait} = others
  const taken: Taken = {samples: [], waits: [], turns: [], fastest: Infinity, total: 0, waited: 0}
  const warmUp = async () => {
    const waited = runWait?.()
    const times = [await measure(false, ONE_RUN)].flat()
    const wait = waited?.() ?? 0
    const computed = times.map(elapsed => (wait < elapsed ? elapsed - wait : elapsed))
    see(taken, computed)
  }
  for (let i = 0; i < protocol.warmup_runs; i++) await warmUp()
  let next = await yieldTurn?.()
  if (next === 'none') throw new RfaError('INTERRUPTED', 'interrupted before the first timed run')
  // from here on a turn shows the pace: what came before is done once
  onStep?.(0, STEPS)
  for (;;) {
    if (next === 'after others' && taken.fastest < warmedNs) await warmUp()
    if (await takeTurn(measure, protocol, taken, others)) break
    onStep?.(Math.floor(STEPS * shareOf(taken, protocol)), STEPS, taken.fastest)
    next = await yieldTurn?.()
    if (next === 'none') break
  }
  const {samples, turns} = taken
  const run_waits_ns = taken.waits.some(ns => ns > 0) ? taken.waits : []
  const times = {samples_ns: samples, run_waits_ns, turn_runs: turns, process_turns: [turns.length]}
  return quoted(times, taken.waited)
}

/** What was measured so far, in ns. */
interface Taken {
  samples: number[]
  /** How long each of them waited for a processor, as far as it was looked at; else 0. */
  waits: number[]
  /** How many of them each turn took. */
  turns: number[]
  /** Of all runs, those of the warm-up, too; infinite before the first one. */
  fastest: number
  total: number
  waited: number | null
}

/** How long a run waited: what would leave less than half of the fastest one fell between the run and a look. */
function within(waited: number, elapsed: number, {fastest}: Taken): number {
  return elapsed - waited < fastest / 2 ? 0 : waited
}

/** Looks at times of new runs, without waiting as far as it is known. */
function see(taken: Taken, times: readonly number[]): void {
  taken.fastest = times.reduce((least, time) => Math.min(least, time), taken.fastest)
}

/**
 * What some runs take that nothing disturbs, in ns: where others have the processors for most of the time, a cell has as many
 * runs as on a quiet machine.
 */
function computed({fastest}: Taken, runs: number): number {
  return runs === 0 ? 0 : runs * fastest
}

/** Times the runs of one turn. @returns whether they were the last */
async function takeTurn(
  measure: Measure,
  {min_runs, max_runs, min_time_ns}: TimingProtocol,
  taken: Taken,
  {waiting = startWaiting, runWait, yieldTurn}: Others,
): Promise<boolean> {
  const {samples, waits} = taken
  const before = {runs: samples.length, total: taken.total}
  const turn = taken.turns.length + 1
  // what a turn of few runs leaves is for the turns that follow, which have one run at least
  const most = yieldTurn ? Math.min(max_runs, Math.ceil((turn / TURNS) * max_runs)) : max_runs
  const least = yieldTurn ? Math.min(TURN_NS, min_time_ns / TURNS) : min_time_ns
  const lasted = () => computed(taken, samples.length - before.runs)
  const isOver = () => samples.length >= most || lasted() >= least
  const enough = !yieldTurn || turn >= Math.min(TURNS, min_runs)
  const isLast = () =>
    samples.length >= max_runs ||
    (samples.length >= min_runs && computed(taken, samples.length) >= min_time_ns && enough)
  const left = (): Budget => {
    const ns = Math.max(0, least - lasted())
    const room = Math.max(1, most - samples.length)
    if (taken.fastest === Infinity) return {runs: room, ns}
    return {runs: Math.min(room, Math.max(1, Math.ceil(ns / taken.fastest))), ns: FOREVER_NS}
  }
  const look = taken.fastest >= LOOKED_AT_NS ? runWait : undefined
  const waited = waiting()
  do {
    const waitedInRun = look?.()
    const found = measure(true, left)
    const times = typeof found === 'number' ? [found] : await found
    const wait = within(waitedInRun?.() ?? 0, times[0]!, taken)
    for (const elapsed of times) {
      samples.push(elapsed)
      waits.push(wait)
      taken.total += elapsed
    }
    see(
      taken,
      times.map(elapsed => elapsed - wait),
    )
  } while (!isLast() && !(yieldTurn && isOver()))
  taken.turns.push(samples.length - before.runs)
  const now = waited()
  // looking at the threads takes time, too, in which they may wait
  const inTurn = now === null ? null : Math.min(now, taken.total - before.total)
  taken.waited = taken.waited === null || inTurn === null ? null : taken.waited + inTurn
  return isLast()
}

/** How much of what the protocol asks for is done. */
function shareOf(taken: Taken, {min_runs, max_runs, min_time_ns}: TimingProtocol) {
  const {samples} = taken
  const time = computed(taken, samples.length)
  const least = Math.min(samples.length / min_runs, min_time_ns > 0 ? time / min_time_ns : 1)
  return Math.min(1, Math.max(least, samples.length / max_runs))
}

/** What is quoted of times in the order in which they were measured. */
export function quoted(
  times: Pick<Timing, 'samples_ns' | 'turn_runs' | 'process_turns'> & {run_waits_ns?: number[]},
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
    run_waits_ns: [],
    ...times,
  }
}
