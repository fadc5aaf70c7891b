/** Runs of a command that makes several, each in a separate folder below the folder of the command. */
import {join} from 'node:path'
import {RfaError} from '../../errors.js'
import {resumeLine} from '../../report/command-line.js'
import type {CellRecord, Plan} from '../../results/record.js'

import type {ExperimentRun} from '../../runner/folder/finished-run.js'
import type {WorkerProcess} from '../../runner/workers/worker-process.js'

import type {RunOptions} from '../flags/shared.js'
import type {Invocation} from '../program/services.js'
import {prepare, runPrepared} from './run-plan.js'

/** Where it goes, and what of the command's flags it takes. */
export interface OwnRun
  extends Pick<RunOptions, 'threads' | 'resume' | 'quiet' | 'timeout'>,
    Partial<Pick<RunOptions, 'force'>> {
  /** Folder of the command. */
  directory: string
  /** Name of the run's folder in it. */
  name: string
}

/** Runs plans one after the other; those that are not timed share a process, which would take as long to start. */
export class OwnRuns {
  readonly #invocation: Invocation
  #worker: WorkerProcess | undefined

  constructor(invocation: Invocation) {
    this.#invocation = invocation
  }

  /**
   * Runs a plan.
   *
   * @typeParam Record - of the plan's experiment
   * @throws as {@link runOf}
   */
  async recordsOf<Record extends CellRecord>(plan: Plan, own: OwnRun): Promise<Record[]> {
    const {records} = await this.runOf(plan, own)
    return records as Record[]
  }

  /** Runs a plan. @throws {INTERRUPTED} after Ctrl-C, saying how to continue the whole command */
  async runOf(plan: Plan, own: OwnRun): Promise<ExperimentRun> {
    const flags = runOptions(own)
    try {
      const worker = await this.#workerFor(plan)
      const prepared = await prepare(plan, flags, worker, this.#invocation)
      const {run, fault} = await runPrepared(
        {...prepared, keepWorker: true},
        flags,
        this.#invocation,
      )
      if (fault) throw fault
      return run
    } catch (error) {
      throw withOwnHint(error, own.directory, this.#invocation.argv)
    }
  }

  async #workerFor({experiment}: Plan): Promise<WorkerProcess> {
    if (!this.#worker?.alive) this.#worker = await this.#invocation.services.takeWorker(experiment)
    return this.#worker
  }

  /** Ends the process. */
  async end(): Promise<void> {
    await this.#worker?.kill()
  }
}

function runOptions({directory, name, force = false, ...others}: OwnRun): RunOptions {
  const off = {profile: false, 'dry-run': false, details: false}
  return {...off, force, ...others, output: join(directory, name)}
}

/** What goes on is the whole command, not one of its runs. */
function withOwnHint(error: unknown, directory: string, argv: readonly string[]): unknown {
  if (!(error instanceof RfaError) || error.code !== 'INTERRUPTED') return error
  const suggestions = [resumeLine(argv, directory)]
  return new RfaError(error.code, error.message, {suggestions, cause: error})
}
