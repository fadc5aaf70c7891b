/** Workers that start before they are needed: one before the command line is read, others while that one makes the plan. */
import {existsSync} from 'node:fs'
import {EXPERIMENT_NAMES} from '../../experiments/index.js'
import {realTimeClass, requireOrdinaryClass} from './scheduling-class.js'
import {requireWorker, WorkerProcess, workerPath} from './worker-process.js'

/** Flags with which a command of an experiment runs nothing. */
const IDLE = ['--help', '-h', '--dry-run']

/** Those that nobody has taken. */
let ahead: WorkerProcess[] = []

/**
 * Starts a worker if the command line looks like one that will run an experiment; a wrong guess costs nothing but
 * that. Where the worker is not built nothing starts, nor in a real-time scheduling class.
 */
export function startAhead([name = '', ...flags]: readonly string[]): WorkerProcess | undefined {
  const runs = (EXPERIMENT_NAMES as readonly string[]).includes(name)
  const idle = flags.some(flag => IDLE.includes(flag))
  const may = existsSync(workerPath()) && realTimeClass() === undefined
  ahead = runs && !idle && may ? [new WorkerProcess({ahead: name})] : []
  return ahead[0]
}

/**
 * Starts the workers that a run will have besides the one that makes its plan.
 *
 * @param experiment - what they will run
 */
export function startOthers(experiment: string, count: number): void {
  for (let at = 0; at < count; at++) ahead.push(new WorkerProcess({ahead: experiment}))
}

/** One of those, if any is left. Who takes it ends it. */
export function takeOther(): WorkerProcess | undefined {
  return ahead.shift()
}

/**
 * The worker that was started ahead, or a new one. Who takes it ends it.
 *
 * @param experiment - what it will run
 * @throws {FILE_MISSING} when the worker's script is not there
 * @throws {UNSUPPORTED} in a real-time scheduling class
 */
export function takeWorker(experiment: string): WorkerProcess {
  requireOrdinaryClass(experiment)
  requireWorker({})
  return ahead.shift() ?? new WorkerProcess({ahead: experiment})
}

/** Ends the workers that were not taken. */
export async function dropAhead(): Promise<void> {
  await Promise.all(ahead.splice(0).map(worker => worker.kill()))
}
