/** The runs of claims and figures: one after the other, each in a folder of its own below theirs. */
import {join} from 'node:path'
import type {ClaimPlan, PlanRequest} from '../claims/claim.js'
import {ClaimRuns} from '../claims/runs.js'
import {RfaError} from '../errors.js'
import {resumeLine} from '../report/command-line.js'
import type {CellRecord} from '../results/record.js'
import type {RunOptions} from './flags.js'
import {type Invocation, prepare, runPrepared} from './run-plan.js'

/** What `rfa claims` was asked for. */
export interface ClaimsFlags extends Pick<RunOptions, 'output' | 'seed' | 'threads'> {
  quick: boolean
  resume: boolean
  quiet: boolean
}

/** What plans are made for. */
export function requestOf({quick, seed = 0}: Pick<ClaimsFlags, 'quick' | 'seed'>): PlanRequest {
  return {effort: quick ? 'quick' : 'full', seed}
}

/**
 * Runs plans by name.
 *
 * @param directory - folder of their folders
 * @throws {INTERRUPTED} after Ctrl-C, telling how to go on with all of it
 * @throws what running a plan throws
 */
export async function runAll(
  plans: ReadonlyMap<string, ClaimPlan>,
  flags: ClaimsFlags & {directory: string},
  invocation: Invocation,
): Promise<ClaimRuns> {
  const records = new Map<string, readonly CellRecord[]>()
  for (const [at, [name, plan]] of [...plans].entries()) {
    invocation.note(`run ${at + 1} of ${plans.size}: ${name}`)
    records.set(name, await recordsOf(plan, {...flags, name}, invocation))
  }
  return new ClaimRuns(records)
}

/** One of the runs, in the folder of its name. */
interface OwnRun extends ClaimsFlags {
  directory: string
  name: string
}

async function recordsOf(
  plan: ClaimPlan,
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
