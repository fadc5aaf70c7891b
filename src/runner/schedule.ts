import {availableParallelism} from 'node:os'
import type {PredictedCell} from '../experiments/experiment.js'
import type {PlannedRun} from '../experiments/planned-run.js'
import {rateOf} from '../experiments/rates.js'
import type {Plan} from '../results/record.js'
import type {Preparation} from './preparation.js'

/** Which processes run the jobs of a plan, decided once. */
export interface Schedule {
  /** At once. */
  processes: number
  /** A new one for every job, gone before the next begins, so that none inherits memory or heat of another. */
  fresh: boolean
  /** Threads that each computes with, where its cells ask for no number; `undefined`: the backend's own choice. */
  threadShare: number | undefined
}

/**
 * Timed cells run alone, each in a process of its own; the others have a process per thread, or share the threads
 * where there are fewer cells. It goes by all cells of the plan: those of a resumed run then have the threads they
 * always had.
 *
 * @param threads - of the whole run. Default: one per processor
 * @param threading - how many of them a process can compute with. Default: any
 */
export function schedule(
  {experiment, jobs}: Pick<PlannedRun<PredictedCell>, 'experiment' | 'jobs'>,
  threads: number = availableParallelism(),
  threading: Preparation['threading'] = 'any',
): Schedule {
  if (experiment.isolation === 'fresh') return {processes: 1, fresh: true, threadShare: undefined}
  const cells = Math.max(1, jobs.length)
  return {
    processes: Math.min(threads, cells),
    fresh: false,
    threadShare: threading === 'one' ? 1 : Math.max(1, Math.floor(threads / cells)),
  }
}

/** Start of one process with its backend, seconds. */
export const PROCESS_SECONDS = 0.5

/** Predicted seconds of a cell in its process, which is started for it where none is shared. */
export function cellSeconds(
  {predictedCost, serialCost = 0}: Pick<PredictedCell, 'predictedCost' | 'serialCost'>,
  {backend}: Pick<Plan, 'backend'>,
  {fresh, threadShare = 1}: Pick<Schedule, 'fresh' | 'threadShare'>,
): number {
  const flops = Number.isFinite(predictedCost) ? predictedCost : 0
  const alone = Math.min(serialCost, flops)
  return ((flops - alone) / threadShare + alone) / rateOf(backend) + (fresh ? PROCESS_SECONDS : 0)
}
