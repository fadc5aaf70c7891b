import {availableParallelism} from 'node:os'
import {join} from 'node:path'
import type {Job} from '../experiments/job.js'
import {writeAtomic} from '../files.js'
import {packageRoot, packageVersion} from '../package.js'
import {writeCsv} from '../results/csv.js'
import type {Journal} from '../results/journal.js'
import {commitOf} from '../results/machine.js'
import {recordsOfPlan} from '../results/plan-records.js'
import {createRun, newManifest} from '../results/run-directory.js'
import type {AnyRecord} from '../results/schemas/index.js'
import type {AnyPlan, RunManifest} from '../results/schemas/manifest.js'
import {countRecords, type RunCounts, writeSummary} from '../results/summary.js'
import {unlessInterrupted} from './interruption.js'
import {compareCode, watchMixture} from './mixture.js'
import {runJobs} from './pool.js'
import {type ProgressEvent, progressMeter} from './progress.js'

export type {ProgressEvent} from './progress.js'

/** A format of the table written at the end of a run, beside the journal. */
export type RunFormat = 'csv' | 'json'

/** How an experiment is run; nothing in here changes a result. */
export interface RunExperimentOptions {
  /** The run's folder; `null`: no files at all. */
  directory: string | null
  /** Go on with the run in that folder, if there is one. */
  resume: boolean
  /** The command as typed, for the manifest. */
  command: string
  /**
   * Threads to compute with, as many workers where there are cells enough. Default: one per
   * processor. Benchmarks run one cell at a time whatever is said, on the threads of their plan.
   */
  concurrency?: number | undefined
  /** Longest time for one cell; `null`: no limit. */
  timeoutMs: number | null
  /** Interrupts the run. */
  signal?: AbortSignal | undefined
  onProgress?: ((event: ProgressEvent) => void) | undefined
  /** Told what a resumed run begins with. */
  onNote?: ((text: string) => void) | undefined
  /** Told what a reader of the results should know of this session. */
  onWarning?: ((text: string) => void) | undefined
  formats: readonly RunFormat[]
  /** Script of the worker processes; default the built one. */
  workerPath?: string | undefined
  /** Turns a plan into jobs; default that of the experiments. */
  planJobs?: ((plan: AnyPlan) => Promise<Job[]> | Job[]) | undefined
}

/** A finished run. */
export interface ExperimentRun {
  directory: string | null
  manifest: RunManifest
  /** One per cell, in the order of the plan, however they came in. */
  records: AnyRecord[]
  counts: RunCounts
}

/**
 * Runs every cell of a plan and saves what came out: `records.jsonl` cell by cell, and at the end
 * `records.csv`, `records.json` and `summary.json`. An interrupted run leaves its journal, and
 * resuming runs only what is missing or has failed.
 *
 * @throws {INTERRUPTED} when the signal came first; the journal holds all cells that had ended
 * @throws {WOULD_OVERWRITE} {PLAN_MISMATCH} {NOT_WRITABLE} for the directory, before anything is computed
 * @throws {NOT_WRITABLE} when the disk fills up, or the directory is moved, deleted or taken by another
 *   process; cells that had ended before are saved
 */
export async function runExperiment(
  plan: AnyPlan,
  options: RunExperimentOptions,
): Promise<ExperimentRun> {
  const {directory, resume, command, signal} = options
  const planned = (options.planJobs ?? experimentJobs)(plan)
  const jobs = distinct(await unlessInterrupted(signal, planned))
  if (directory === null) {
    const manifest = await newManifest(plan, command)
    return runOf(null, manifest, await runMissing(plan, jobs, options))
  }
  const opened = createRun({directory, plan, command, resume})
  const {manifest, journal, resumed} = await unlessInterrupted(signal, opened, late =>
    late.journal.close(),
  )
  try {
    if (resume && !resumed) options.onNote?.(`no run in ${directory} yet: starting one`)
    if (resumed)
      compareCode(manifest.machine.commit, await commitOf(packageRoot()), options.onWarning)
    const records = await runMissing(plan, jobs, options, journal)
    await journal.check()
    await writeTables(directory, plan, records, options.formats)
    return runOf(directory, manifest, records)
  } finally {
    await journal.close()
  }
}

/** Runs the cells that the journal does not hold yet. @returns one record per job, in their order */
async function runMissing(
  plan: AnyPlan,
  jobs: readonly Job[],
  options: RunExperimentOptions,
  journal?: Journal,
): Promise<AnyRecord[]> {
  const {onProgress, onWarning = () => {}} = options
  const earlier = savedRecords(jobs, journal, onWarning)
  const records = new Map(earlier.map(record => [record.key, record]))
  const missing = jobs.filter(({key}) => !records.has(key))
  const byKey = new Map(missing.map(job => [job.key, job]))
  const meter = progressMeter(missing, jobs.length - missing.length)
  const compare = watchMixture(earlier, onWarning)
  const onRecord = async (record: AnyRecord) => {
    await journal?.append(record)
    compare(record)
    records.set(record.key, record)
    onProgress?.(meter.end(byKey.get(record.key)!, record.status === 'failed'))
  }
  const pool = {
    ...options,
    ...isolation(plan, jobs.length, options),
    signal: eitherOf(options.signal, journal?.lost),
    onStart: (job: Job) => onProgress?.(meter.start(job)),
  }
  await runJobs(missing, pool, onRecord).catch(error => {
    throw journal?.lost.aborted ? journal.lost.reason : error
  })
  return jobs.map(({key}) => records.get(key)!)
}

/** What needs not run again: the newest record of each cell, unless it failed. */
function savedRecords(
  jobs: readonly Job[],
  journal: Journal | undefined,
  warn: (text: string) => void,
): AnyRecord[] {
  const keys = jobs.map(({key}) => key)
  const {records, foreign} = recordsOfPlan(journal?.records ?? [], keys, packageVersion())
  if (foreign > 0) {
    const what = foreign === 1 ? '1 record' : `${foreign} records`
    warn(`left out: ${what} of no cell of this plan, or under the key of another`)
  }
  return records.filter(({status}) => status !== 'failed')
}

function eitherOf(...signals: (AbortSignal | undefined)[]): AbortSignal {
  return AbortSignal.any(signals.filter(signal => signal !== undefined))
}

/**
 * Timed cells run alone, each in a process of its own; the others share workers, one per thread.
 *
 * @param cells - of the whole plan: those of a resumed run then have the threads they always had
 */
function isolation(
  {experiment}: AnyPlan,
  cells: number,
  {concurrency = availableParallelism()}: RunExperimentOptions,
) {
  return experiment === 'bench'
    ? {concurrency: 1, freshProcess: true}
    : {concurrency, freshProcess: false, env: shareOfThreads(concurrency, cells)}
}

/** Fewer cells than threads share them: what a backend takes where nothing is asked for. */
function shareOfThreads(threads: number, cells: number): NodeJS.ProcessEnv {
  return {RFA_THREADS: String(Math.max(1, Math.floor(threads / cells)))}
}

async function writeTables(
  directory: string,
  plan: AnyPlan,
  records: readonly AnyRecord[],
  formats: readonly RunFormat[],
): Promise<void> {
  if (formats.includes('csv')) await writeCsv(join(directory, 'records.csv'), records)
  if (formats.includes('json')) {
    await writeAtomic(join(directory, 'records.json'), `${JSON.stringify(records, null, 2)}\n`)
  }
  await writeSummary(directory, plan, records)
}

function runOf(
  directory: string | null,
  manifest: RunManifest,
  records: AnyRecord[],
): ExperimentRun {
  return {directory, manifest, records, counts: countRecords(records)}
}

/** The first job of each key: equal cells are run once. */
function distinct(jobs: readonly Job[]): Job[] {
  const seen = new Set<string>()
  return jobs.filter(({key}) => !seen.has(key) && seen.add(key))
}

/** Loaded on demand: planning needs the estimators. */
async function experimentJobs(plan: AnyPlan): Promise<Job[]> {
  const {planJobs} = await import('../experiments/index.js')
  return planJobs(plan)
}
