/** One run of a command that makes several, in a folder of its own below that of the command. */
import {join} from 'node:path'
import {RfaError} from '../errors.js'
import {resumeLine} from '../report/command-line.js'
import type {CellRecord, Plan} from '../results/record.js'
import type {RunOptions} from './flags.js'
import {type Invocation, prepare, runPrepared} from './run-plan.js'

/** Where it goes, and what of the command's flags it takes. */
export interface OwnRun extends Pick<RunOptions, 'threads' | 'resume' | 'quiet'> {
  /** Folder of the command. */
  directory: string
  /** Name of the run's folder in it. */
  name: string
}

/**
 * Runs a plan.
 *
 * @throws {INTERRUPTED} after Ctrl-C, telling how to go on with the whole command
 * @throws what running a plan throws
 */
export async function recordsOf(
  plan: Plan,
  own: OwnRun,
  invocation: Invocation,
): Promise<CellRecord[]> {
  const flags = runOptions(own)
  const worker = await invocation.services.takeWorker(plan.experiment)
  try {
    const prepared = await prepare(plan, flags, worker, invocation)
    const {run, fault} = await runPrepared(prepared, flags, invocation)
    if (fault) throw fault
    return run.records
  } catch (error) {
    throw withOwnHint(error, own.directory, invocation.argv)
  } finally {
    await worker.kill()
  }
}

function runOptions({directory, name, resume, threads, quiet}: OwnRun): RunOptions {
  const off = {force: false, profile: false, 'dry-run': false, quick: false}
  const options = {...off, output: join(directory, name), resume, quiet}
  return threads === undefined ? options : {...options, threads}
}

/** What goes on is the whole command, not one of its runs. */
function withOwnHint(error: unknown, directory: string, argv: readonly string[]): unknown {
  if (!(error instanceof RfaError) || error.code !== 'INTERRUPTED') return error
  const suggestions = [resumeLine(argv, directory)]
  return new RfaError(error.code, error.message, {suggestions, cause: error})
}
