/** From a plan to a finished run: backend check, jobs, folder, progress, interrupt. */
import {availableParallelism} from 'node:os'
import {RfaError} from '../errors.js'
import type {PlannedRun} from '../experiments/planned-run.js'
import {resumeLine} from '../report/command-line.js'
import {plural} from '../report/numbers.js'
import type {Plan} from '../results/record.js'
import type {ExperimentRun} from '../runner/run-experiment.js'
import {type Schedule, schedule} from '../runner/schedule.js'
import type {RunOptions} from './flags.js'
import {listenForInterrupt} from './interrupt.js'
import {startProgress} from './progress.js'
import type {Services} from './services.js'

/** What a run needs to know about the command that called it. */
export interface Invocation {
  /** The command, word by word, as it was typed. */
  argv: readonly string[]
  services: Services
  /** Says something on stderr. */
  note(text: string): void
  /** Says it even where notes are not wanted. */
  caution(text: string): void
}

/** A plan with its jobs, and the processes that are to run them. */
export interface PreparedRun {
  run: PlannedRun
  schedule: Schedule
}

/**
 * Makes the jobs of a plan and decides how they run. What would make every cell fail is told here, before anything is
 * written; a dry run tries nothing, as it may be made for another machine.
 *
 * @throws {USAGE} for `--resume` without `--output`
 * @throws {UNSUPPORTED} when the backend has fewer threads than asked for
 * @throws {BACKEND_MISSING} when the backend cannot run here
 * @throws {TOO_LARGE} when the plan does not fit into memory, unless forced
 */
export async function prepare(
  asked: Plan,
  flags: RunOptions,
  {services, note}: Invocation,
): Promise<PreparedRun> {
  const dry = flags['dry-run']
  if (!dry) refuseResumeOfNothing(flags)
  const plan = await pinned(asked)
  const threads = plan.threads ?? undefined
  if (dry) await (await import('../backends/index.js')).checkThreads(plan.backend, threads)
  else await services.useBackend(plan.backend, {threads, note})
  if (!dry) noteCrowding(flags.threads, note)
  const run = await services.planRun(plan)
  const prepared = {run, schedule: schedule(run, flags.threads)}
  if (dry) return prepared
  if (!flags.force) await services.assertFits(run, prepared.schedule)
  await run.experiment.check?.(plan)
  return prepared
}

/**
 * Runs what was prepared, showing progress on stderr.
 *
 * @throws {INTERRUPTED} after Ctrl-C, telling how to go on
 */
export async function runPrepared(
  {run, schedule}: PreparedRun,
  flags: RunOptions,
  {argv, services, note, caution}: Invocation,
): Promise<ExperimentRun> {
  const directory =
    flags.output ?? (await services.newRunDirectory(run.plan.experiment, new Date()))
  const progress = await startProgress({stream: process.stderr, quiet: flags.quiet})
  const interruption = listenForInterrupt()
  try {
    const finished = await services.runExperiment(run, {
      directory,
      resume: flags.resume,
      argv,
      schedule,
      timeoutMs: flags.timeout === undefined ? null : flags.timeout * 1000,
      signal: interruption.signal,
      onProgress: event => progress.update(event),
      onNote: text => progress.aside(() => note(text)),
      onWarning: text => progress.aside(() => caution(text)),
      formats: [...(flags.format ?? (['csv'] as const))],
    })
    progress.stop()
    note(`saved in ${directory}`)
    return finished
  } catch (error) {
    progress.stop()
    throw withResumeHint(error, resumeLine(argv, directory))
  } finally {
    interruption.dispose()
  }
}

/** The plan with its input pinned to what the files hold now. @throws {FILE_MISSING | BAD_FILE | ARRAY_MISSING} */
async function pinned(plan: Plan): Promise<Plan> {
  if (!plan.input) return plan
  const {pinInput} = await import('../inputs/digest.js')
  return {...plan, input: await pinInput(plan.input)}
}

/** @throws {USAGE} where `--resume` does not say what to go on with */
function refuseResumeOfNothing({output, resume}: RunOptions): void {
  if (!resume || output !== undefined) return
  throw new RfaError('USAGE', '--resume: expected --output DIR beside it, got none', {
    suggestions: ['name the folder of the run to go on with'],
  })
}

function noteCrowding(threads: number | undefined, note: Invocation['note']): void {
  const processors = availableParallelism()
  if (threads === undefined || threads <= processors) return
  note(`threads: ${threads} on ${plural(processors, 'processor')}, which they will share`)
}

/** An interrupt tells the command that goes on; other errors stay as they are. */
function withResumeHint(error: unknown, command: string): unknown {
  if (!(error instanceof RfaError) || error.code !== 'INTERRUPTED') return error
  return new RfaError('INTERRUPTED', error.message, {suggestions: [command], cause: error})
}
