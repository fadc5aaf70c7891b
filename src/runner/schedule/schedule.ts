import {availableParallelism} from 'node:os'
import type {Experiment, PredictedCell} from '../../experiments/experiment.js'
import type {PlannedRun} from '../../experiments/planned-run.js'
import {rateOf} from '../../experiments/rates.js'
import {readMemory} from '../../free-memory.js'
import type {Plan} from '../../results/record.js'

/** Threads that a process can compute with: any number, or one. */
export type Threading = 'any' | 'one'

/** Which processes run the jobs of a plan, decided once. */
export interface Schedule {
  /** That compute at once. */
  processes: number
  /** A new one for every job, so that none inherits memory of another. */
  fresh: boolean
  /** Fresh ones that are there at once: they compute in turns, so that what disturbs the machine for a while falls on all. */
  open: number
  /** Trials at once, before any is timed. */
  trials: number
  /** Threads that each computes with, where its cells ask for no number; `undefined`: the backend's own choice. */
  threadShare: number | undefined
}

/** Most timed cells that take turns: so much is lost when a run is killed. */
const MOST_OPEN = 32
/** Share of the free memory that they may take. */
const OPEN_SHARE = 0.5

/**
 * Timed cells compute alone, in separate processes, in turns. Other cells have a process per thread, or share the
 * threads if there are fewer cells. All cells of the plan count, so a resumed run uses the same threads.
 *
 * @param threads - of the whole run. Default: one per processor
 * @param threading - how many of them a process can compute with. Default: any
 */
export function schedule(
  {experiment, jobs}: Pick<PlannedRun, 'experiment' | 'jobs'>,
  threads: number = availableParallelism(),
  threading: Threading = 'any',
): Schedule {
  if (experiment.isolation === 'fresh') {
    const open = openAtOnce({experiment, jobs})
    const trials = Math.min(open, threads)
    return {processes: 1, fresh: true, open, trials, threadShare: undefined}
  }
  const cells = Math.max(1, jobs.length)
  return {
    processes: Math.min(threads, cells),
    fresh: false,
    open: 0,
    trials: 0,
    threadShare: threading === 'one' ? 1 : Math.max(1, Math.floor(threads / cells)),
  }
}

/**
 * How many processes a run has at least, before its cells are known: each method is a cell or more. One where cells get new
 * processes, or where it may have some cells already.
 *
 * @param threads - as of {@link schedule}
 */
export function leastProcesses(
  {isolation}: Pick<Experiment, 'isolation'>,
  {methods = [], plugins}: Pick<Plan, 'methods' | 'plugins'>,
  {threads = availableParallelism(), inPart}: {threads?: number | undefined; inPart: boolean},
): number {
  if (isolation === 'fresh' || plugins || inPart) return 1
  return Math.max(1, Math.min(threads, methods.length))
}

/** The number that memory has room for, if all were as large as the largest, next to what their processes have once. */
function openAtOnce({experiment, jobs}: Pick<PlannedRun, 'experiment' | 'jobs'>): number {
  const common = new Map<string, number>()
  let largest = 1
  for (const {cell, predictedBytes, commonBytes = 0} of jobs) {
    const key = experiment.processes?.sharingKey?.(cell) ?? ''
    common.set(key, Math.max(common.get(key) ?? 0, commonBytes))
    largest = Math.max(largest, predictedBytes - commonBytes)
  }
  const once = [...common.values()].reduce((sum, bytes) => sum + bytes, 0)
  const room = Math.floor((OPEN_SHARE * readMemory().free - once) / largest)
  return Math.max(1, Math.min(MOST_OPEN, jobs.length, room))
}

/** Start of one process with its backend, or the first cell of one that has started: code that runs for the first time. Seconds. */
export const PROCESS_SECONDS = 0.5

/** The same of a cell in each of the processes that it shares with others, and of its trial. Seconds. */
export const SHARING_SECONDS = 0.2

/**
 * Predicted seconds of each cell (on the plan's first backend) in its processes, with their start where none is
 * shared. Cells that share something are taken to begin in all processes at once, and each to compute it: the most that it takes.
 *
 * @param cells - in the order in which they begin
 */
export function predictedSeconds(
  cells: readonly Costs[],
  {backend}: Pick<Plan, 'backend'>,
  {fresh, threadShare = 1, processes}: Pick<Schedule, 'fresh' | 'threadShare' | 'processes'>,
): number[] {
  const rate = threadShare * rateOf([backend].flat()[0]!)
  const begun = new Map<string, number>()
  return cells.map(({predictedCost, shared = [], processes: own = 1}) => {
    let cost = predictedCost
    for (const part of shared) {
      const before = begun.get(part.id) ?? 0
      if (before < processes) cost += part.cost
      begun.set(part.id, before + 1)
    }
    return (Number.isFinite(cost) ? cost : 0) / rate + (fresh ? (own + 1) * SHARING_SECONDS : 0)
  })
}

type Costs = Pick<PredictedCell, 'predictedCost' | 'shared' | 'processes'>
