import {RfaError} from '../errors.js'
import type {Experiment} from '../experiments/experiment.js'
import type {Job} from '../experiments/planned-run.js'
import {parseRecord} from '../results/parse-record.js'
import type {CellError, CellRecord} from '../results/record.js'
import type {Schedule} from './schedule.js'
import {type JobEnd, requireWorker, type WorkerOptions, WorkerProcess} from './worker-process.js'

/** How jobs are run. */
export interface PoolOptions extends WorkerOptions {
  experiment: Experiment
  schedule: Schedule
  /** Longest time for one job; `null`: no limit. */
  timeoutMs: number | null
  /** Stops everything. */
  signal?: AbortSignal | undefined
  /** Told when a job begins. */
  onStart?: ((job: Job) => void) | undefined
}

/** Told when a job has ended: its record, and how long it took, in ms. */
export type OnRecord = (record: CellRecord, elapsedMs: number) => Promise<void> | void

/**
 * Runs jobs in child processes. They begin in the order given; records come as jobs end. A job whose
 * process dies or takes too long becomes a failed record, and the others go on with a new process.
 *
 * @param onRecord - awaited before its worker takes another job; an error of it stops everything
 * @throws {INTERRUPTED} when the signal came before the last job had ended: workers are killed, their
 *   jobs leave no record, and `onRecord` is not called any more when the promise is rejected
 * @throws {FILE_MISSING} when the worker's script is not there
 */
export async function runJobs(
  jobs: readonly Job[],
  options: PoolOptions,
  onRecord: OnRecord,
): Promise<void> {
  if (jobs.length === 0) return
  requireWorker(options)
  const pool = new Pool(jobs, options, onRecord)
  const stop = () => pool.stop()
  options.signal?.addEventListener('abort', stop)
  try {
    if (options.signal?.aborted) stop()
    await pool.run()
  } finally {
    options.signal?.removeEventListener('abort', stop)
  }
}

class Pool {
  readonly #jobs: readonly Job[]
  readonly #options: PoolOptions
  readonly #onRecord: OnRecord
  readonly #workers = new Set<WorkerProcess>()
  #next = 0
  #ended = 0
  #stopped = false

  constructor(jobs: readonly Job[], options: PoolOptions, onRecord: OnRecord) {
    this.#jobs = jobs
    this.#options = options
    this.#onRecord = onRecord
  }

  /** Kills all workers; lanes end as soon as they notice. */
  stop(): void {
    this.#stopped = true
    for (const worker of this.#workers) void worker.kill()
  }

  async run(): Promise<void> {
    const lanes = Math.min(this.#options.schedule.processes, this.#jobs.length)
    const ends = await Promise.allSettled(Array.from({length: lanes}, () => this.#lane()))
    const failure = ends.find(end => end.status === 'rejected')
    if (failure) throw failure.reason
    const left = this.#jobs.length - this.#ended
    if (left > 0) {
      throw new RfaError(
        'INTERRUPTED',
        `interrupted: ${left} of ${this.#jobs.length} cells not run`,
      )
    }
  }

  /** Takes jobs until there are none, with one worker at a time. */
  async #lane(): Promise<void> {
    let worker: WorkerProcess | undefined
    try {
      while (!this.#stopped) {
        const job = this.#jobs[this.#next++]
        if (!job) break
        worker = await this.#workerFor(worker)
        if (this.#stopped) break
        await this.#runOne(job, worker)
      }
    } catch (error) {
      this.stop()
      throw error
    } finally {
      await this.#retire(worker)
    }
  }

  async #runOne(job: Job, worker: WorkerProcess): Promise<void> {
    this.#options.onStart?.(job)
    const {experiment, schedule, timeoutMs} = this.#options
    const {threadShare} = schedule
    const task = {experiment: experiment.name, cell: job.cell, context: {threadShare}}
    const begin = performance.now()
    const end = await worker.run(task, timeoutMs)
    const elapsed = performance.now() - begin
    if (this.#stopped && end.kind !== 'reply') return // killed by us: no fault of the cell
    await this.#onRecord(recordOf(experiment, job, end), elapsed)
    this.#ended++
  }

  /** The same worker as long as it may serve again, else a new one. */
  async #workerFor(worker: WorkerProcess | undefined): Promise<WorkerProcess> {
    if (worker?.alive && !this.#options.schedule.fresh) return worker
    await this.#retire(worker)
    const fresh = new WorkerProcess(this.#options)
    this.#workers.add(fresh)
    return fresh
  }

  async #retire(worker: WorkerProcess | undefined): Promise<void> {
    if (!worker) return
    this.#workers.delete(worker)
    await worker.kill()
  }
}

/** The record of a job that has ended. What does not fit its schema is a failure of the cell too. */
function recordOf(experiment: Experiment, job: Job, end: JobEnd): CellRecord {
  const {key, cell, label} = job
  const parsed = (outcome: object, where: string) =>
    parseRecord({schema: experiment.schema, key, cell, ...outcome}, where, [experiment])
  const failed = (error: CellError) => parsed({status: 'failed', error}, label)
  if (end.kind !== 'reply') return failed(end.error)
  if ('error' in end.reply) return failed(end.reply.error)
  try {
    return parsed(end.reply.outcome, 'result of the cell')
  } catch (error) {
    if (error instanceof RfaError) return failed({code: 'CELL_CRASHED', message: error.message})
    throw error
  }
}
