/** Times as fresh processes measured them: what varies within one of them does not predict the next one. */
import {type Estimate, mapped, median, quantile, studentTest} from '../../../stats/index.js'

/** Times in the order in which they were measured, with their turns and processes. */
export interface InProcesses {
  samples_ns: readonly number[]
  /** How long each run waited for a processor; empty: not known, or none did. */
  run_waits_ns?: readonly number[]
  turn_runs: readonly number[]
  process_turns: readonly number[]
}

/** Runs of each process; of one where processes were not recorded. */
export function processRuns({samples_ns, turn_runs, process_turns}: InProcesses): number[][] {
  if (process_turns.length < 2) return [[...samples_ns]]
  return slices(samples_ns, partSums(turn_runs, process_turns))
}

/** Medians of these, in ns. */
export function processMedians(times: InProcesses): number[] {
  return processRuns(times).map(runs => median(runs))
}

/**
 * The same with runs less what they waited for a processor. A long call loses its processor to others more often than a short
 * one, so that on a busy machine times are wrong by other factors for long calls than for short ones.
 */
function computing<Times extends InProcesses>(times: Times): Times {
  const {samples_ns, run_waits_ns = []} = times
  if (run_waits_ns.length !== samples_ns.length) return times
  return {...times, samples_ns: samples_ns.map((time, run) => time - run_waits_ns[run]!)}
}

/** What a call takes that nothing disturbs, by processes, in ns: the 10th percentile of their runs without waiting. */
export function undisturbedTimes(times: InProcesses): number[] {
  return processRuns(computing(times)).map(fastest)
}

/** The same by turns, process by process. */
export function undisturbedTurns(times: InProcesses): number[][] {
  return byProcess(times, ofTurns(computing(times), fastest))
}

function fastest(runs: readonly number[]): number {
  return quantile(runs, 0.1)
}

/** The same by the median, which agrees where few calls are disturbed. */
export function usualTimes(times: InProcesses): number[] {
  return processRuns(computing(times)).map(runs => median(runs))
}

/**
 * Geometric mean of the medians of processes, with the 95 % interval that Student's t gives their logarithms. The spread of
 * medians has both levels in it: what processes differ by, and what is left of the noise of the runs within each.
 *
 * Source: Kalibera and Jones 2013, "Rigorous benchmarking in reasonable time", ISMM, section 9.2, for the mean of the
 * highest level.
 *
 * @param medians - in ns, at least one
 * @returns ends are `NaN` of one process: what another one would measure is not known
 */
export function ofProcesses(medians: readonly number[]): Estimate {
  if (medians.length < 2) return {value: medians[0]!, low: Number.NaN, high: Number.NaN}
  return mapped(studentTest(medians.map(Math.log)).estimate, Math.exp)
}

/** Medians of the runs of each turn, in ns; one for all where turns were not recorded. */
export function turnMedians(times: InTurns): number[] {
  return ofTurns(times, runs => median(runs))
}

/** The same, process by process. */
export function turnMediansByProcess(times: InProcesses): number[][] {
  return byProcess(times, turnMedians(times))
}

type InTurns = Pick<InProcesses, 'samples_ns' | 'turn_runs'>

function ofTurns({samples_ns, turn_runs}: InTurns, of: (runs: readonly number[]) => number) {
  return turn_runs.length === 0 ? [of(samples_ns)] : slices(samples_ns, turn_runs).map(of)
}

function byProcess({process_turns}: InProcesses, turns: readonly number[]): number[][] {
  return process_turns.length < 2 ? [[...turns]] : slices(turns, process_turns)
}

/** Consecutive parts of some lengths; a journal that was tampered with may have any. */
function slices<T>(values: readonly T[], lengths: readonly number[]): T[][] {
  let end = 0
  return lengths.map(length => {
    end += length
    return values.slice(end - length, end)
  })
}

function partSums(values: readonly number[], lengths: readonly number[]): number[] {
  return slices(values, lengths).map(part => part.reduce((sum, x) => sum + x, 0))
}
