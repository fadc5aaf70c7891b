import type {Job} from '../experiments/planned-run.js'

/** How far a run is. */
export interface ProgressEvent {
  /** Cells that have ended, those of an earlier session included. */
  done: number
  total: number
  /** The cell that runs; of several, the one begun last. Empty when none does. */
  label: string
  /** Time left, in ms; `null` before the first cell has ended. */
  etaMs: number | null
  /** Cells that failed, of those done. */
  failed: number
}

/** Counts cells and estimates the time left. */
export interface ProgressMeter {
  start(job: Job): ProgressEvent
  end(job: Job, failed: boolean): ProgressEvent
}

/**
 * Makes the meter of a run. Time left = time used x predicted cost of the cells that have not ended /
 * cost of those that have: cells differ by orders of magnitude, so counting them would not do.
 *
 * @param jobs - the cells of this session
 * @param reused - cells that an earlier session has done
 * @param now - clock in ms, any origin
 */
export function progressMeter(
  jobs: readonly Job[],
  reused: number,
  now: () => number = () => performance.now(),
): ProgressMeter {
  const begin = now()
  const weights = weightsOf(jobs)
  const running = new Set<Job>()
  let rest = [...weights.values()].reduce((sum, weight) => sum + weight, 0)
  let spent = 0
  let done = 0
  let failed = 0
  const event = (): ProgressEvent => ({
    done: reused + done,
    total: reused + jobs.length,
    label: [...running].at(-1)?.label ?? '',
    etaMs: done === 0 ? null : done === jobs.length ? 0 : ((now() - begin) * rest) / spent,
    failed,
  })
  return {
    start(job) {
      running.add(job)
      return event()
    },
    end(job, hasFailed) {
      const weight = weights.get(job) ?? 0
      running.delete(job)
      rest -= weight
      spent += weight
      done++
      if (hasFailed) failed++
      return event()
    },
  }
}

/** Predicted costs; a cell without one counts as the cheapest that has one. */
function weightsOf(jobs: readonly Job[]): Map<Job, number> {
  const known = jobs.map(({predictedCost}) => predictedCost).filter(cost => cost > 0)
  const least = known.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY)
  const fallback = Number.isFinite(least) ? least : 1
  return new Map(jobs.map(job => [job, job.predictedCost > 0 ? job.predictedCost : fallback]))
}
