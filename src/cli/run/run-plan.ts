/** From a plan to a finished run: backend check, jobs, folder, progress, interrupt. */
import {readdir, stat} from 'node:fs/promises'
import {availableParallelism} from 'node:os'
import {basename, dirname, join} from 'node:path'
import {closest, expected, RfaError} from '../../errors.js'
import {experimentNamed} from '../../experiments/index.js'
import type {PlannedRun} from '../../experiments/planned-run.js'
import {commandText, resumeLine, typeablePath} from '../../report/command-line.js'
import {bytes, plural} from '../../report/numbers.js'
import {shardText} from '../../results/folder/shard.js'
import type {CellRecord, Plan} from '../../results/record.js'
import {type ExperimentRun, FaultyRun} from '../../runner/folder/finished-run.js'
import {PROFILE_FOLDER} from '../../runner/folder/profile-files.js'
import {withoutSaved} from '../../runner/folder/saved-cells.js'
import type {Preparation} from '../../runner/preparation.js'
import {
  leastProcesses,
  predictedSeconds,
  type Schedule,
  schedule,
} from '../../runner/schedule/schedule.js'
import {ofShard} from '../../runner/schedule/shards.js'
import type {WorkerProcess} from '../../runner/workers/worker-process.js'
import type {RunOptions} from '../flags/shared.js'
import type {Invocation} from '../program/services.js'
import {listenForInterrupt} from './interrupt.js'
import {duration, startProgress} from './progress.js'
import {idleAxes} from './without-effect.js'

/** A plan with its jobs, and the processes that are to run them. */
export interface PreparedRun {
  run: PlannedRun
  schedule: Schedule
  /** The process that has planned, where it may compute the first cells, too. */
  worker?: WorkerProcess | undefined
  /** Keep it running for another run. */
  keepWorker?: boolean
  /** When the first of several runs of a folder began, by `performance.now()`. Default: now. */
  begun?: number | undefined
}

/**
 * Has a worker make the jobs of a plan, and decides how they run. What would make every cell fail is told here, before
 * anything is written.
 *
 * @param worker - makes the plan; the caller ends it, whatever comes
 * @throws {UNSUPPORTED} when the backend has fewer threads than asked for
 * @throws {BACKEND_MISSING} when the backend, or a peer, cannot run here
 * @throws {TOO_LARGE} when the plan does not fit into memory, or would take more than a year, unless forced
 */
export async function prepare(
  asked: Plan,
  flags: RunOptions,
  worker: WorkerProcess,
  invocation: Invocation,
): Promise<PreparedRun> {
  const {services, note} = invocation
  const {force, timeout, shard} = flags
  const timeoutMs = timeout === undefined ? null : timeout * 1000
  await noteLargeInput(asked, note)
  const shards = shard?.count
  const [prepared, others] = await Promise.all([
    services.prepareRun(asked, worker, {force, timeoutMs, shards}),
    startOthers(asked, flags, services),
  ])
  for (const text of prepared.notes) note(text)
  const {run, schedule} = await scheduled(asked, prepared, flags, invocation)
  const heldBytes = (1 + others) * prepared.heldBytes // each loads the same
  if (!force) {
    refuseEndless(run, schedule)
    await services.assertFits(run, schedule, {heldBytes})
  }
  // a generated input that alone is too large fails every cell, forced or not; learned parameters may not fit it
  const {input, methods, peers} = run.plan
  const tuned = methods?.some(spec => spec.tuned)
  if (input?.kind === 'file' || tuned || peers || force) await services.checkInput(run.plan, worker)
  if (prepared.serves && !schedule.fresh) return {run, schedule, worker}
  await services.dropOthers()
  await worker.kill()
  return {run, schedule}
}

/** They load what cells need while the plan is made. @returns how many there are */
async function startOthers(
  plan: Plan,
  {threads, resume, shard}: Pick<RunOptions, 'threads' | 'resume' | 'shard'>,
  services: Invocation['services'],
): Promise<number> {
  const experiment = await experimentNamed(plan.experiment)
  const processes = leastProcesses(experiment, plan, {
    threads,
    inPart: resume || shard !== undefined,
  })
  if (processes > 1) await services.startOthers(plan.experiment, processes - 1)
  return processes - 1
}

const YEAR_SECONDS = 365 * 24 * 3600

/** @throws {TOO_LARGE} for a plan that would take more than a year */
function refuseEndless({jobs, plan}: PlannedRun, how: Schedule): void {
  const each = predictedSeconds(jobs, plan, how)
  const years = each.reduce((sum, one) => sum + one, 0) / how.processes / YEAR_SECONDS
  if (years <= 1) return
  const got = `one that takes about ${years.toPrecision(2)} years`
  const remedy = 'lower the number of draws, lengths or methods'
  const other = 'or run it all the same with `force`'
  throw expected('TOO_LARGE', 'plan', 'one that ends within a year', got, remedy, other)
}

export interface PreparedDryRun {
  /** Only cells that would run. */
  run: PlannedRun
  schedule: Schedule
  /** Cells that the run to go on with has already. */
  kept: number
}

/**
 * The same for a dry run, which tries nothing: it may be made for another machine. With `--resume` the run that is there
 * is looked at.
 *
 * @throws {PLAN_MISMATCH} {WOULD_OVERWRITE} {BAD_FILE} where the plan cannot go on with that run
 */
export async function prepareDry(
  asked: Plan,
  flags: RunOptions,
  invocation: Invocation,
): Promise<PreparedDryRun> {
  const {services} = invocation
  const {output, resume, shard} = flags
  const prepared = await services.prepareDryRun(asked, {shards: shard?.count})
  const {run, schedule} = await scheduled(asked, prepared, flags, invocation)
  const saved = resume && output !== undefined ? await services.examineRun(output, run) : undefined
  const jobs = saved ? withoutSaved(run.jobs, saved.records) : run.jobs
  const processes = Math.min(schedule.processes, Math.max(1, jobs.length))
  const kept = run.jobs.length - jobs.length
  return {run: {...run, jobs}, schedule: {...schedule, processes}, kept}
}

/** Jobs of a shard are computed as in a run of the whole plan: with as many threads, in as many processes. */
async function scheduled(
  asked: Plan,
  {
    plan,
    jobs,
    threading,
    warnings,
    shards,
  }: Pick<Preparation, 'plan' | 'jobs' | 'threading' | 'warnings' | 'shards'>,
  flags: RunOptions,
  {note, caution}: Invocation,
): Promise<{run: PlannedRun; schedule: Schedule}> {
  const {threads, shard} = flags
  noteCrowding(threads, note)
  if (flags.plan !== undefined) {
    const {requireSameInput} = await import('./plan-file.js')
    requireSameInput(flags.plan, asked, plan)
  }
  for (const warning of [...warnings, ...idleAxes(flags, jobs)]) caution(warning)
  const run = {experiment: await experimentNamed(plan.experiment), plan, jobs}
  const how = schedule(run, threads, threading)
  cautionOfIdleThreads(threading, how, threads, caution)
  if (!shard || !shards) return {run, schedule: how}
  return {run: {...run, jobs: ofShard(jobs, shards, shard.index), shard}, schedule: how}
}

/** A run that has ended, and what there is to say below its tables. */
export interface EndedRun {
  run: ExperimentRun
  /** Where it was saved, and what to do next. */
  closing: readonly string[]
  /** Why it has no tables, or not all of its cells, telling how to go on. */
  fault?: RfaError | undefined
}

/**
 * Runs what was prepared, showing progress on stderr.
 *
 * @throws {INTERRUPTED} after Ctrl-C where there is nothing to show, telling how to go on
 * @throws {NOT_WRITABLE} when the folder cannot be written, telling how to go on once a cell had begun
 */
export async function runPrepared(
  {run, schedule, worker, keepWorker, begun: start = performance.now()}: PreparedRun,
  flags: RunOptions,
  {argv, services, note, caution}: Invocation,
): Promise<EndedRun> {
  const directory =
    flags.output ?? (await services.newRunDirectory(run.plan.experiment, new Date()))
  if (flags.profile && schedule.fresh) note('times are taken under a profiler, which slows them')
  const progress = await startProgress({stream: process.stderr, quiet: flags.quiet})
  const interruption = listenForInterrupt()
  const command = resumeLine(argv, directory)
  let begun = false
  try {
    const finished = await services.runExperiment(run, {
      directory,
      resume: flags.resume,
      argv,
      schedule,
      worker,
      keepWorker,
      timeoutMs: flags.timeout === undefined ? null : flags.timeout * 1000,
      signal: interruption.signal,
      onProgress: event => {
        begun = true
        progress.update(event)
      },
      onTick: event => progress.update(event),
      onNote: text => progress.aside(() => note(text)),
      onWarning: text => progress.aside(() => caution(text)),
      profile: flags.profile,
      formats: flags.format,
      requested: flags.samples ? ['samples'] : [],
    })
    const {profile, details} = flags
    const elapsedMs = performance.now() - start
    const said = closing(finished, {directory, argv, profile, details, elapsedMs})
    return {run: finished, closing: said}
  } catch (error) {
    const told = withResumeHint(error, command, begun)
    if (!(told instanceof RfaError)) throw told
    if (!(error instanceof FaultyRun)) throw told
    return {run: error.run, closing: [], fault: told}
  } finally {
    progress.stop()
    interruption.dispose()
  }
}

/** What is known of a run that has ended, besides its records. */
export interface Ending {
  directory: string
  /** The command, word by word. */
  argv: readonly string[]
  profile: boolean
  /** Whether every table was printed. */
  details: boolean
  /** How long it took, in ms. Default: nobody waited. */
  elapsedMs?: number
}

/** How a run ended, where it is, and what to do next: a line each. */
export function closing(
  {counts, records, manifest}: Pick<ExperimentRun, 'counts' | 'records' | 'manifest'>,
  {directory, argv, profile, details, elapsedMs}: Ending,
): string[] {
  const {total, completed, skipped, failed} = counts
  const inPart = records.filter(record => record.status === 'completed' && record.interrupted)
  const [bin = ''] = argv
  const others = [
    ...(inPart.length > 0 ? [`${inPart.length} measured in part`] : []),
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
  ]
  const part = manifest.shard ? `shard ${shardText(manifest.shard)}: ` : ''
  const all = plural(total, 'cell')
  const done = others.length === 0 ? all : `${completed - inPart.length} of ${all}`
  const time = elapsedMs === undefined ? '' : ` in ${lasted(elapsedMs)}`
  return [
    ...(profile ? [`profiles in ${join(directory, PROFILE_FOLDER)}`] : []),
    `${part}${[done + time, ...others].join(', ')}, saved in ${directory}${failed === 0 ? mergeAdvice(manifest, bin) : ''}`,
    ...(records.some(mayPass) ? [runAgain(records, argv, directory)] : []),
    ...(failed === 0 && completed > 0 && !manifest.shard
      ? [
          whereTheRestIs([bin, 'report', typeablePath(directory)], details),
          ...afterQuick(manifest.plan.experiment, argv),
        ]
      : []),
  ]
}

/** What people ask after a first run on what is packaged: the command, and its question. */
const NEXT: ReadonlyMap<string, readonly [command: string, question: string]> = new Map([
  ['error-sweep', ['swap --quick', 'what does a whole model lose?']],
  ['swap', ['tune --model charlm --quick', 'how much of it does learning repair?']],
  ['bench', ['error-sweep --quick', 'how far off is each method?']],
])

/** The next question after `--quick` alone. */
function afterQuick(experiment: string, [bin, ...words]: readonly string[]): string[] {
  const next = NEXT.get(experiment)
  return next && words.length === 2 && words[1] === '--quick'
    ? [`next: ${bin} ${next[0]}   ${next[1]}`]
    : []
}

/** Columns of a line, less those of `npx `, which commands may begin with. */
const ONE_LINE = 76

/** Which command prints what was not printed. */
function whereTheRestIs(report: readonly string[], details: boolean): string {
  const page = '--html page.html'
  if (details) return `as a page: ${commandText(report)} ${page}`
  const line = `every table: ${commandText(report)} --details`
  const both = `${line} (as a page: ${page})`
  return both.length <= ONE_LINE ? both : line
}

function lasted(ms: number): string {
  if (ms >= 59_500) return duration(ms)
  return `${(ms / 1000).toFixed(ms < 9950 ? 1 : 0)} s`
}

/** One line is enough for a shard. */
function mergeAdvice({shard}: ExperimentRun['manifest'], bin: string): string {
  return shard ? `; when all ${shard.count} have ended: ${bin} merge FOLDERS --output DIR` : ''
}

function isLate(record: CellRecord): boolean {
  return record.status === 'failed' && record.error.code === 'CELL_TIMEOUT'
}

/** Whether a cell that failed may pass another time: the same numbers come to the same end. */
function mayPass(record: CellRecord): boolean {
  return record.status === 'failed' && record.error.code !== 'NOT_FINITE'
}

/** How to run what failed again. A limit of time that stopped cells would only stop them once more. */
function runAgain(
  records: readonly CellRecord[],
  argv: readonly string[],
  directory: string,
): string {
  const late = records.filter(isLate).length
  if (late === 0) return `retry what failed: ${resumeLine(argv, directory)}`
  const command = resumeLine(argv, directory, ['--timeout'])
  return `retry without --timeout, which stopped ${plural(late, 'cell')}: ${command}`
}

/**
 * A shard may start in a new folder, as the jobs of an array all have one line.
 *
 * @throws {USAGE} where `--resume` does not say what to continue
 * @throws {FILE_MISSING} where it names a folder that is not there
 */
export async function refuseResumeOfNothing({
  output,
  resume,
  shard,
}: Pick<RunOptions, 'output' | 'resume' | 'shard'>): Promise<void> {
  if (!resume) return
  if (output === undefined) {
    const remedy = 'name the folder of the run to go on with'
    throw expected('USAGE', '--resume', '--output DIR beside it', 'none', remedy)
  }
  if (shard || (await stat(output).catch(() => undefined))) return
  const parent = dirname(output)
  const guess = closest(basename(output), await readdir(parent).catch(() => []))
  const remedies = guess === undefined ? [] : [`did you mean ${join(parent, guess)}?`]
  const start = 'leave --resume out to start a new run'
  const what = 'the folder of a run'
  throw expected('FILE_MISSING', '--resume', what, `no folder ${output}`, ...remedies, start)
}

/** Bytes of input whose checksum people wait for. */
const LARGE_INPUT = 2 ** 31

/** Says what takes long before the first cell. */
async function noteLargeInput({input}: Plan, note: Invocation['note']): Promise<void> {
  if (input?.kind !== 'file') return
  const files = await Promise.all(input.paths.map(path => stat(path).catch(() => undefined)))
  const size = files.reduce((sum, file) => sum + (file?.isFile() ? file.size : 0), 0)
  if (size < LARGE_INPUT) return
  note(`${input.paths.join(', ')}: reading ${bytes(size)} once, for its checksum`)
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

/**
 * An interrupt tells the command that goes on, and so does a full disk; other errors stay as they are.
 *
 * @param begun - whether there is a run to go on with
 */
function withResumeHint(error: unknown, command: string, begun: boolean): unknown {
  if (!(error instanceof RfaError)) return error
  const {code, message, suggestions} = error
  if (code === 'INTERRUPTED')
    return new RfaError(code, message, {suggestions: [command], cause: error})
  if (code !== 'NOT_WRITABLE' || !begun) return error
  return new RfaError(code, message, {
    suggestions: [...suggestions, `then go on with: ${command}`],
    cause: error,
  })
}
