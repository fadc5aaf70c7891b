/** From a plan to a finished run: backend check, jobs, folder, progress, interrupt. */
import {availableParallelism} from 'node:os'
import {join} from 'node:path'
import {RfaError} from '../errors.js'
import {experimentNamed} from '../experiments/index.js'
import type {PlannedRun} from '../experiments/planned-run.js'
import {resumeLine} from '../report/command-line.js'
import {plural} from '../report/numbers.js'
import type {Plan} from '../results/record.js'
import type {Preparation} from '../runner/preparation.js'
import {PROFILE_FOLDER} from '../runner/profile-files.js'
import type {ExperimentRun} from '../runner/run-experiment.js'
import {type Schedule, schedule} from '../runner/schedule.js'
import type {WorkerProcess} from '../runner/worker-process.js'
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
  /** The process that has planned, where it may compute the first cells, too. */
  worker?: WorkerProcess | undefined
}

/**
 * Has a worker make the jobs of a plan, and decides how they run. What would make every cell fail is told here, before
 * anything is written.
 *
 * @param worker - makes the plan; the caller ends it, whatever comes
 * @throws {UNSUPPORTED} when the backend has fewer threads than asked for
 * @throws {BACKEND_MISSING} when the backend cannot run here
 * @throws {TOO_LARGE} when the plan does not fit into memory, unless forced
 */
export async function prepare(
  asked: Plan,
  flags: RunOptions,
  worker: WorkerProcess,
  invocation: Invocation,
): Promise<PreparedRun> {
  const {services, note} = invocation
  const prepared = await services.prepareRun(asked, worker)
  for (const text of prepared.notes) note(text)
  noteCrowding(flags.threads, note)
  const {run, schedule} = await scheduled(prepared, flags, invocation)
  if (!flags.force) await services.assertFits(run, schedule)
  if (run.plan.input?.kind === 'file') await services.checkInput(run.plan, worker)
  if (prepared.serves && !schedule.fresh) return {run, schedule, worker}
  await worker.kill()
  return {run, schedule}
}

/** The same for a dry run, which tries nothing: it may be made for another machine. */
export async function prepareDry(
  asked: Plan,
  flags: RunOptions,
  invocation: Invocation,
): Promise<PreparedRun> {
  return scheduled(await invocation.services.prepareDryRun(asked), flags, invocation)
}

async function scheduled(
  {plan, jobs, threading, warnings}: Preparation,
  {threads}: RunOptions,
  {caution}: Invocation,
): Promise<PreparedRun> {
  for (const warning of warnings) caution(warning)
  const run = {experiment: await experimentNamed(plan.experiment), plan, jobs}
  const how = schedule(run, threads, threading)
  cautionOfIdleThreads(threading, how, threads, caution)
  return {run, schedule: how}
}

/**
 * Runs what was prepared, showing progress on stderr.
 *
 * @throws {INTERRUPTED} after Ctrl-C, telling how to go on
 */
export async function runPrepared(
  {run, schedule, worker}: PreparedRun,
  flags: RunOptions,
  {argv, services, note, caution}: Invocation,
): Promise<ExperimentRun> {
  const directory =
    flags.output ?? (await services.newRunDirectory(run.plan.experiment, new Date()))
  if (flags.profile && schedule.fresh) note('times are taken under a profiler, which slows them')
  const progress = await startProgress({stream: process.stderr, quiet: flags.quiet})
  const interruption = listenForInterrupt()
  try {
    const finished = await services.runExperiment(run, {
      directory,
      resume: flags.resume,
      argv,
      schedule,
      worker,
      timeoutMs: flags.timeout === undefined ? null : flags.timeout * 1000,
      signal: interruption.signal,
      onProgress: event => progress.update(event),
      onNote: text => progress.aside(() => note(text)),
      onWarning: text => progress.aside(() => caution(text)),
      profile: flags.profile,
      formats: [...(flags.format ?? (['csv'] as const))],
    })
    progress.stop()
    note(`saved in ${directory}`)
    if (flags.profile) note(`profiles in ${join(directory, PROFILE_FOLDER)}`)
    return finished
  } catch (error) {
    progress.stop()
    throw withResumeHint(error, resumeLine(argv, directory))
  } finally {
    interruption.dispose()
  }
}

/** @throws {USAGE} where `--resume` does not say what to go on with */
export function refuseResumeOfNothing({output, resume}: RunOptions): void {
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

/** Threads that were asked for and cannot be used; benchmarks refuse them. */
function cautionOfIdleThreads(
  threading: Preparation['threading'],
  {processes, fresh}: Schedule,
  threads: number | undefined,
  caution: Invocation['caution'],
): void {
  if (fresh || threading === 'any' || threads === undefined || processes >= threads) return
  caution(
    `threads: using ${processes} of ${threads}, as this backend has one thread for each cell and the plan ` +
      `${plural(processes, 'cell')}; the native backend divides a cell among threads`,
  )
}

/** An interrupt tells the command that goes on; other errors stay as they are. */
function withResumeHint(error: unknown, command: string): unknown {
  if (!(error instanceof RfaError) || error.code !== 'INTERRUPTED') return error
  return new RfaError('INTERRUPTED', error.message, {suggestions: [command], cause: error})
}
