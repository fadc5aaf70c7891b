import {existsSync} from 'node:fs'
import {rm} from 'node:fs/promises'
import {join} from 'node:path'
import {RfaError} from '../errors.js'
import type {Experiment} from '../experiments/experiment.js'
import {allExperiments} from '../experiments/index.js'
import {type Job, type PlannedRun, planKeys, planLabels} from '../experiments/planned-run.js'
import {packageRoot} from '../package.js'
import {plural} from '../report/numbers.js'
import {commitOf} from '../results/folder/machine.js'
import {createRun, MANIFEST_FILE, newManifest} from '../results/folder/run-directory.js'
import type {Journal} from '../results/journal/journal.js'
import type {CellRecord} from '../results/record.js'
import {
  type ExperimentRun,
  FaultyRun,
  runOf,
  saveTables,
  type TableOptions,
} from './folder/finished-run.js'
import {compareCode, warnOnMixedBackends} from './folder/mixed-backends.js'
import {profileFiles} from './folder/profile-files.js'
import {damageNote, usableRecords, withoutThose} from './folder/saved-cells.js'
import {unlessInterrupted} from './interruption.js'
import {type ProgressEvent, progressMeter} from './progress.js'
import type {Part} from './schedule/parts.js'
import {PROCESS_SECONDS, predictedSeconds, type Schedule} from './schedule/schedule.js'
import {runJobs} from './workers/pool.js'
import type {WorkerProcess} from './workers/worker-process.js'

export {type ExperimentRun, finishedRunSchema} from './folder/finished-run.js'
export type {ProgressEvent} from './progress.js'

/** How an experiment is run; nothing in here changes a result. */
export interface RunExperimentOptions extends TableOptions {
  /** The run's folder; `null`: no files at all. */
  directory: string | null
  /** Continue the run in that folder, if there is one. */
  resume: boolean
  /** The command, word by word, for the manifest. */
  argv: readonly string[]
  schedule: Schedule
  /** Longest time for one cell; `null`: no limit. */
  timeoutMs: number | null
  signal?: AbortSignal | undefined
  /** Called when a cell begins or ends. */
  onProgress?: ((event: ProgressEvent) => void) | undefined
  /** Called once a second with the progress of the run. */
  onTick?: ((event: ProgressEvent) => void) | undefined
  /** Called with what a resumed run begins with. */
  onNote?: ((text: string) => void) | undefined
  /** Called with a warning about this session for readers of the results. */
  onWarning?: ((text: string) => void) | undefined
  /** Have workers write profiles of themselves into the folder. */
  profile?: boolean
  /** A worker that is there already, for the first cells; it is ended with the others, unless it is to be kept. */
  worker?: WorkerProcess | undefined
  /** Gives further ones. Default: none is there */
  takeOther?: (() => WorkerProcess | undefined) | undefined
  /** Keep that one running. */
  keepWorker?: boolean | undefined
  /** Script of the worker processes; default the built one. */
  workerPath?: string | undefined
}

/**
 * Runs every cell of a plan and saves what came out: `records.jsonl` cell by cell, and at the end
 * `records.csv`, `records.json` and `summary.json`. An interrupted run leaves its journal, and
 * resuming runs only what is missing or has failed.
 *
 * @throws {INTERRUPTED} when the signal came first; the journal holds all cells that had ended, and timed ones as far as they were
 *   measured; a {@link FaultyRun} where there are any
 * @throws {WOULD_OVERWRITE} {PLAN_MISMATCH} {NOT_WRITABLE} for the directory, before anything is computed
 * @throws {NOT_WRITABLE} when the disk fills up, or the directory is moved, deleted or taken by another
 *   process; cells that had ended before are saved
 * @throws {FaultyRun} the same after the last cell, with the records
 */
export async function runExperiment(
  run: PlannedRun,
  options: RunExperimentOptions,
): Promise<ExperimentRun> {
  const {plan, jobs} = run
  const {directory, resume, argv, signal, onNote, onWarning} = options
  const shard = run.shard && {...run.shard, cells: jobs.length}
  if (directory === null) {
    const manifest = await newManifest({plan, argv, shard}, run.experiment)
    const {records, interrupted} = await runMissing(run, options)
    if (interrupted) throw interrupted
    return runOf(run, {directory, manifest, records})
  }
  const experiments = await readableIn(directory, run.experiment)
  const names = {keysOf: planKeys, labelsOf: planLabels}
  const request = {directory, experiments, plan, shard, argv, resume, ...names}
  const opened = createRun(request)
  const {manifest, journal, resumed, extended} = await unlessInterrupted(signal, opened, late =>
    late.journal.close(),
  )
  try {
    if (resume && !resumed) onNote?.(`no run in ${directory} yet: starting one`)
    if (extended !== undefined) {
      onNote?.(`the run in ${directory} had ${plural(extended, 'cell')}, now it has ${jobs.length}`)
    }
    if (resumed) compareCode(manifest.machine.commit, await commitOf(packageRoot()), onWarning)
    const {records, interrupted} = await runMissing(run, options, journal)
    const finished = await runOf(run, {directory, manifest, records})
    await run.experiment.save?.(records, directory)
    if (interrupted) throw new FaultyRun(finished, interrupted)
    await saveTables(run, finished, options, journal)
    return finished
  } finally {
    await journal.close()
  }
}

/** Experiments with runs that the folder may hold: that of the plan where it holds none yet. */
async function readableIn(directory: string, own: Experiment): Promise<readonly Experiment[]> {
  return existsSync(join(directory, MANIFEST_FILE)) ? allExperiments() : [own]
}

/** Between two looks at how far a run is, in ms. */
const TICK_MS = 1000

interface Ran {
  /** One per job, in their order; of an interrupted run those that there are. */
  records: CellRecord[]
  interrupted?: RfaError
}

/** Runs the cells that the journal does not hold yet. @throws {INTERRUPTED} where nothing of it was measured */
async function runMissing(
  run: PlannedRun,
  options: RunExperimentOptions,
  journal?: Journal,
): Promise<Ran> {
  const {jobs, experiment, plan} = run
  const {onProgress, onTick, onWarning = () => {}} = options
  const earlier = savedRecords(jobs, journal, onWarning)
  const records = new Map(earlier.map(record => [record.key, record]))
  const missing = inTurn(withoutThose(jobs, earlier), experiment)
  if (journal?.damaged) onWarning(damageNote(journal.damaged, missing))
  const meter = meterOf(run, missing, options.schedule)
  const compare = warnOnMixedBackends(earlier, onWarning)
  const onRecord = async (record: CellRecord) => {
    await journal?.append(record)
    compare(record)
    records.set(record.key, record)
    onProgress?.(meter.count(record.status === 'failed'))
  }
  const {directory, profile} = options
  const checkpoints =
    experiment.keepsCheckpoints && directory !== null ? join(directory, 'checkpoints') : undefined
  const pool = {
    ...options,
    profileFile: profile && directory !== null ? await profileFiles(directory) : undefined,
    checkpointFile:
      checkpoints === undefined
        ? undefined
        : (key: string) => join(checkpoints, `${key}.safetensors`),
    experiment,
    plugins: plan.plugins,
    signal: AbortSignal.any([options.signal, journal?.lost].filter(signal => signal !== undefined)),
    onStart: (part: Part) => onProgress?.(meter.start(part)),
    onEnd: meter.end,
    onHeard: meter.hear,
    onTurn: meter.turn,
  }
  const ticks = onTick && setInterval(() => onTick(meter.look()), TICK_MS)
  const inOrder = () => jobs.map(({key}) => records.get(key)).filter(one => one !== undefined)
  try {
    await runJobs(missing, pool, onRecord)
    const ended = inOrder()
    // what a process that was killed has left of a file is there, too
    if (checkpoints && !ended.some(({status}) => status === 'failed'))
      await rm(checkpoints, {recursive: true, force: true})
    return {records: ended}
  } catch (error) {
    if (journal?.lost.aborted) throw journal.lost.reason
    const done = inOrder()
    // if cells take turns, or send what they have, each of them has measured something
    const partial = (experiment.isolation === 'fresh' || experiment.keepsParts) && done.length > 0
    if (!(partial && error instanceof RfaError && error.code === 'INTERRUPTED')) throw error
    return {records: done, interrupted: error}
  } finally {
    clearInterval(ticks)
  }
}

/** Jobs in the order in which they run. */
function inTurn(jobs: readonly Job[], {longestFirst}: Experiment): readonly Job[] {
  return longestFirst ? jobs.toSorted((a, b) => b.predictedCost - a.predictedCost) : jobs
}

function meterOf(
  {experiment, plan, jobs}: PlannedRun,
  missing: readonly Job[],
  schedule: Schedule,
) {
  const seconds = predictedSeconds(missing, plan, schedule)
  const predicted = new Map(missing.map((job, at) => [job, 1000 * seconds[at]!]))
  return progressMeter({
    jobs: missing,
    reused: jobs.length - missing.length,
    processes: schedule.processes,
    predictedMs: job => predicted.get(job)!,
    coldMs: schedule.fresh ? 0 : 1000 * PROCESS_SECONDS,
    soFar: experiment.soFar,
  })
}

/** What needs not run again: the newest record of each cell, unless it failed. */
function savedRecords(
  jobs: readonly Job[],
  journal: Journal | undefined,
  warn: (text: string) => void,
): CellRecord[] {
  if (!journal || journal.records.length === 0) return []
  const keys = jobs.map(({key}) => key)
  const {records, foreign} = usableRecords(journal.records, keys)
  if (foreign > 0) {
    const what = foreign === 1 ? '1 record' : `${foreign} records`
    warn(`left out: ${what} outside this plan, or with the key of another cell`)
  }
  return records
}
