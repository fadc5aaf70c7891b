/** Times as fresh processes measured them: what varies within one of them does not predict the next one. */
import {type Estimate, mapped, median, studentTest} from '../../../stats/index.js'

/** Times in the order in which they were measured, with their turns and processes. */
export interface InProcesses {
  samples_ns: readonly number[]
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
export function turnMedians({
  samples_ns,
  turn_runs,
}: Pick<InProcesses, 'samples_ns' | 'turn_runs'>): number[] {
  if (turn_runs.length === 0) return [median(samples_ns)]
  return slices(samples_ns, turn_runs).map(own => median(own))
}

/** The same, process by process. */
export function turnMediansByProcess(times: InProcesses): number[][] {
  const all = turnMedians(times)
  return times.process_turns.length < 2 ? [all] : slices(all, times.process_turns)
}

/** Consecutive parts of some lengths; a journal that was tampered with may have any. */
function slices<T>(values: readonly T[], lengths: readonly number[]): T[][] {
  let end = 0
  return lengths.map(length => {
    end += length
    return values.slice(end - length, end)
  })
}

/** Sums of consecutive parts. */
function partSums(values: readonly number[], lengths: readonly number[]): number[] {
  return slices(values, lengths).map(part => part.reduce((sum, x) => sum + x, 0))
}
