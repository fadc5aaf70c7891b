/** From a plan to a finished run: folder, backend check, progress, interrupt. */
import {availableParallelism} from 'node:os'
import type {BackendChoice} from '../backends/index.js'
import {RfaError} from '../errors.js'
import {plural} from '../report/numbers.js'
import type {AnyPlan} from '../results/schemas/manifest.js'
import type {ExperimentRun} from '../runner/run-experiment.js'
import type {RunOptions} from './flags.js'
import {listenForInterrupt} from './interrupt.js'
import {startProgress} from './progress.js'

/** What {@link runPlan} needs to know about the command that called it. */
export interface Invocation {
  /** The command as typed, for the manifest. */
  command: string
  /** The command that goes on after an interrupt, given the folder. */
  resumeCommand(directory: string): string
  /** Says something on stderr. */
  note(text: string): void
  /** Says it even where notes are not wanted. */
  caution(text: string): void
}

/**
 * Runs a plan, showing progress on stderr.
 *
 * @throws {USAGE} for `--resume` without `--output`
 * @throws {TOO_LARGE} when the plan does not fit into memory, unless forced
 * @throws {UNSUPPORTED} when the backend has fewer threads than asked for
 * @throws {BACKEND_MISSING} when the backend cannot run here
 * @throws {INTERRUPTED} after Ctrl-C, telling how to go on
 */
export async function runPlan(
  plan: AnyPlan,
  flags: RunOptions,
  invocation: Invocation,
): Promise<ExperimentRun> {
  refuseResumeOfNothing(flags)
  await refuseHopelessPlan(plan, flags, invocation.note)
  const directory = flags.output ?? (await newDirectory(plan))
  const {runExperiment} = await import('../runner/run-experiment.js')
  const progress = await startProgress({stream: process.stderr, quiet: flags.quiet})
  const interruption = listenForInterrupt()
  try {
    const run = await runExperiment(plan, {
      directory,
      resume: flags.resume,
      command: invocation.command,
      concurrency: concurrencyOf(plan, flags.threads),
      timeoutMs: flags.timeout === undefined ? null : flags.timeout * 1000,
      signal: interruption.signal,
      onProgress: event => progress.update(event),
      onNote: text => progress.aside(() => invocation.note(text)),
      onWarning: text => progress.aside(() => invocation.caution(text)),
      formats: [...(flags.format ?? ['csv'])],
    })
    progress.stop()
    invocation.note(`saved in ${directory}`)
    return run
  } catch (error) {
    progress.stop()
    throw withResumeHint(error, invocation.resumeCommand(directory))
  } finally {
    interruption.dispose()
  }
}

/** @throws {USAGE} where `--resume` does not say what to go on with */
function refuseResumeOfNothing({output, resume}: RunOptions): void {
  if (!resume || output !== undefined) return
  throw new RfaError('USAGE', '--resume: expected --output DIR beside it, got none', {
    suggestions: ['name the folder of the run to go on with'],
  })
}

/** A folder named after experiment and time. */
async function newDirectory({experiment}: AnyPlan): Promise<string> {
  const {defaultRunDirectory, makeNewDirectory} = await import('../results/new-directory.js')
  return makeNewDirectory(defaultRunDirectory(experiment, new Date()))
}

/** What would make every cell fail is told once, before anything is written. */
async function refuseHopelessPlan(
  plan: AnyPlan,
  {force, threads}: RunOptions,
  note: Invocation['note'],
): Promise<void> {
  const [{assertFits}, {useBackend}] = await Promise.all([
    import('../experiments/index.js'),
    import('../backends/index.js'),
  ])
  await useBackend(plan.backend as BackendChoice, {threads: backendThreads(plan), note})
  const processors = availableParallelism()
  if (threads !== undefined && threads > processors) {
    note(`threads: ${threads} on ${plural(processors, 'processor')}, which they will share`)
  }
  await assertFits(plan, {force, concurrency: concurrencyOf(plan, threads)})
}

/** Refuses what no machine can run; tries nothing, as a dry run may be made for another machine. @throws {UNSUPPORTED} */
export async function checkPlan(plan: AnyPlan): Promise<void> {
  const {checkThreads} = await import('../backends/index.js')
  await checkThreads(plan.backend as BackendChoice, backendThreads(plan))
}

/** Threads that one cell asks of the backend; `undefined` leaves them to it. */
function backendThreads(plan: AnyPlan): number | undefined {
  return plan.experiment === 'bench' ? (plan.threads ?? undefined) : undefined
}

/**
 * Processes at once: timings must not disturb each other; elsewhere each thread has a process.
 *
 * @param threads - of the whole run. Default: one per processor
 */
export function concurrencyOf(
  {experiment}: AnyPlan,
  threads: number = availableParallelism(),
): number {
  return experiment === 'bench' ? 1 : threads
}

/** An interrupt tells the command that goes on; other errors stay as they are. */
function withResumeHint(error: unknown, command: string): unknown {
  if (!(error instanceof RfaError) || error.code !== 'INTERRUPTED') return error
  return new RfaError('INTERRUPTED', error.message, {suggestions: [command], cause: error})
}
