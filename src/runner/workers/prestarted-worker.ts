/** A worker that starts before the command line is read, so that it is ready when the plan is. */
import {existsSync} from 'node:fs'
import {EXPERIMENT_NAMES} from '../../experiments/index.js'
import {realTimeClass, requireOrdinaryClass} from './scheduling-class.js'
import {requireWorker, WorkerProcess, workerPath} from './worker-process.js'

/** Flags with which a command of an experiment runs nothing. */
const IDLE = ['--help', '-h', '--dry-run']

let ahead: WorkerProcess | undefined

/**
 * Starts a worker if the command line looks like one that will run an experiment; a wrong guess costs nothing but
 * that. Where the worker is not built nothing starts, nor in a real-time scheduling class.
 */
export function startAhead([name = '', ...flags]: readonly string[]): WorkerProcess | undefined {
  const runs = (EXPERIMENT_NAMES as readonly string[]).includes(name)
  const idle = flags.some(flag => IDLE.includes(flag))
  const may = existsSync(workerPath()) && realTimeClass() === undefined
  ahead = runs && !idle && may ? new WorkerProcess({ahead: name}) : undefined
  return ahead
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
  const worker = ahead ?? new WorkerProcess({ahead: experiment})
  ahead = undefined
  return worker
}

/** Ends the worker that was started ahead, if it was not used. */
export async function dropAhead(): Promise<void> {
  await ahead?.kill()
  ahead = undefined
}
