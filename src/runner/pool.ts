import {RfaError} from '../errors.js'
import type {Cells} from '../experiments/cells.js'
import type {Experiment} from '../experiments/experiment.js'
import type {Job} from '../experiments/planned-run.js'
import {type PluginRecord, pluginDigest, pluginOf} from '../plugins/record.js'
import {parseRecord} from '../results/parse-record.js'
import type {CellError, CellRecord} from '../results/record.js'
import type {Schedule} from './schedule.js'
import {type Place, Turns} from './turns.js'
import {type JobEnd, requireWorker, type WorkerOptions, WorkerProcess} from './worker-process.js'

/** Default of {@link PoolOptions.profilePatienceMs}. */
const PROFILE_PATIENCE_MS = {ended: 60_000, stopped: 2000}

/** How jobs are run. */
export interface PoolOptions extends WorkerOptions {
  experiment: Experiment
  schedule: Schedule
  /** Those of the plan. */
  plugins?: readonly PluginRecord[] | undefined
  /** Longest time for one job; `null`: no limit. */
  timeoutMs: number | null
  /** A worker that is there already, for the first job. */
  worker?: WorkerProcess | undefined
  /** Leave that one running when the jobs have ended: whoever has started it has more for it. */
  keepWorker?: boolean | undefined
  /** Stops everything. */
  signal?: AbortSignal | undefined
  /** Told when a job begins. */
  onStart?: ((job: Job) => void) | undefined
  /** Told by a cell that runs how long it still needs, in ms. */
  onHeard?: ((job: Job, leftMs: number) => void) | undefined
  /** Told when a timed cell gives up its turn, and when it has the next. */
  onTurn?: ((job: Job, own: boolean) => void) | undefined
  /** Where each worker writes a profile of itself when it ends; called once for each. Default: nowhere. */
  profileFile?: (() => string) | undefined
  /** How long a worker may take to write it, in ms: after its last cell, and when it is stopped in one. */
  profilePatienceMs?: {ended: number; stopped: number}
  /** Told what went wrong without harm to the records. */
  onWarning?: ((text: string) => void) | undefined
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
  jobs: Cells<Job>,
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

/** No job any more. */
const END = {value: undefined, done: true} as const

class Pool {
  readonly #count: number
  /** Jobs that have not begun; they are made as they begin. */
  readonly #jobs: Iterator<Job>
  readonly #options: PoolOptions
  readonly #onRecord: OnRecord
  readonly #workers = new Set<WorkerProcess>()
  /** Those that are profiled. */
  readonly #profiled = new Set<WorkerProcess>()
  /** Ends on their way: who asks for one again waits for the same. */
  readonly #ends = new Map<WorkerProcess, Promise<void>>()
  /** The worker that was there already, until a lane takes it. */
  #spare: WorkerProcess | undefined
  /** Of lanes whose cells are timed. */
  readonly #turns = new Turns()
  #ended = 0
  #stopped = false

  constructor(jobs: Cells<Job>, options: PoolOptions, onRecord: OnRecord) {
    this.#count = jobs.length
    this.#jobs = jobs[Symbol.iterator]()
    this.#options = options
    this.#onRecord = onRecord
    this.#spare = options.worker
  }

  /** Kills all workers; lanes end as soon as they notice. */
  stop(): void {
    this.#stopped = true
    this.#turns.close()
    for (const worker of this.#workers) void this.#endWorker(worker)
  }

  async run(): Promise<void> {
    const {processes, fresh, open} = this.#options.schedule
    const lanes = Math.min(fresh ? open : processes, this.#count)
    const lane = () => (fresh ? this.#timedLane() : this.#lane())
    const ends = await Promise.allSettled(Array.from({length: lanes}, lane))
    const failure = ends.find(end => end.status === 'rejected')
    if (failure) throw failure.reason
    const left = this.#count - this.#ended
    if (left > 0) {
      throw new RfaError('INTERRUPTED', `interrupted: ${left} of ${this.#count} cells not run`)
    }
  }

  /**
   * Takes jobs until there are none, one at a time. Each plug-in has a worker of its own: what it throws late, or changes
   * in its process, is no matter of other methods.
   */
  async #lane(): Promise<void> {
    const workers = new Map<string | undefined, WorkerProcess>()
    try {
      while (!this.#stopped) {
        const {value: job, done} = this.#jobs.next()
        if (done) break
        const plugin = pluginOf(job.cell)
        const worker = await this.#workerFor(workers.get(plugin))
        workers.set(plugin, worker)
        if (this.#stopped) break
        await this.#runOne(job, worker)
      }
    } catch (error) {
      this.stop()
      throw error
    } finally {
      const ended = [...workers.values()].filter(worker => !this.#keeps(worker))
      await Promise.all(ended.map(worker => this.#retire(worker)))
    }
  }

  #keeps(worker: WorkerProcess): boolean {
    const {keepWorker, worker: given} = this.#options
    return Boolean(keepWorker) && worker === given && !this.#stopped
  }

  /** The same with a new worker for every job, and in turns with other such lanes, from its start to its end. */
  async #timedLane(): Promise<void> {
    const place = this.#turns.place()
    try {
      for (;;) {
        await place.take()
        const {value: job, done} = this.#stopped ? END : this.#jobs.next()
        if (done) break
        const worker = await this.#workerFor(undefined)
        if (!this.#stopped) await this.#runOne(job, worker, place)
        await this.#retire(worker)
        place.leave()
      }
    } catch (error) {
      this.stop()
      throw error
    } finally {
      place.leave()
    }
  }

  async #runOne(job: Job, worker: WorkerProcess, place?: Place): Promise<void> {
    this.#options.onStart?.(job)
    const {experiment, schedule, timeoutMs, onHeard, onTurn} = this.#options
    const {threadShare, processes} = schedule
    const context = {threadShare, processes}
    const plugins = pluginsOf(job.cell, this.#options.plugins)
    const task = {experiment: experiment.name, cell: job.cell, context, ...(plugins && {plugins})}
    const begin = performance.now()
    const yieldTurn = async () => {
      onTurn?.(job, false)
      const others = (await place?.pass()) ?? false
      onTurn?.(job, true)
      return others
    }
    const heard = (leftMs: number) => onHeard?.(job, leftMs)
    const end = await worker.run(task, timeoutMs, {onHeard: heard, yieldTurn})
    const elapsed = performance.now() - begin
    if (this.#stopped && end.kind !== 'reply') return // killed by us: no fault of the cell
    await this.#onRecord(recordOf(experiment, job, end), elapsed)
    this.#ended++
  }

  /** The same worker as long as it may serve again, else a new one. */
  async #workerFor(worker: WorkerProcess | undefined): Promise<WorkerProcess> {
    if (worker?.alive) return worker
    await this.#retire(worker)
    const next = this.#spare?.alive ? this.#spare : new WorkerProcess(this.#options)
    this.#spare = undefined
    this.#workers.add(next)
    if (this.#options.profileFile) {
      this.#profiled.add(next)
      await next.run({profile: 'start'}, null) // a cell that is asked for before it has begun could go unseen
    }
    return next
  }

  async #retire(worker: WorkerProcess | undefined): Promise<void> {
    if (!worker) return
    this.#workers.delete(worker)
    await this.#endWorker(worker)
  }

  #endWorker(worker: WorkerProcess): Promise<void> {
    const end = this.#ends.get(worker) ?? this.#end(worker)
    this.#ends.set(worker, end)
    return end
  }

  /** Kills a worker at once; one that is profiled writes what it has, unless it is busy for too long. */
  async #end(worker: WorkerProcess): Promise<void> {
    const {profileFile, profilePatienceMs = PROFILE_PATIENCE_MS, onWarning} = this.#options
    if (profileFile && this.#profiled.delete(worker)) {
      const patience = profilePatienceMs[this.#stopped ? 'stopped' : 'ended']
      const end = await worker.run({profile: {path: profileFile()}}, patience)
      const lost = lossOf(end)
      if (lost !== undefined) onWarning?.(`a profile was not written: ${lost}`)
    }
    await worker.kill()
  }
}

/** The plug-in that a cell's estimator comes from: others need not be there for it. */
function pluginsOf(cell: object, plugins: readonly PluginRecord[] = []) {
  const plugin = pluginOf(cell)
  return plugin === undefined
    ? undefined
    : plugins.filter(record => pluginDigest(record) === plugin)
}

/** Why a worker has not written its profile, if it has not. */
function lossOf(end: JobEnd): string | undefined {
  if (end.kind === 'timeout') return 'its worker was in the midst of a cell'
  if (end.kind === 'died') return end.error.message
  return 'refusal' in end.reply ? end.reply.refusal.message : undefined
}

/** The record of a job that has ended. What does not fit its schema is a failure of the cell too. */
function recordOf(experiment: Experiment, job: Job, end: JobEnd): CellRecord {
  const {key, cell, label} = job
  const parsed = (outcome: object, where: string) =>
    parseRecord({schema: experiment.schema, key, cell, ...outcome}, where, [experiment])
  const failed = (error: CellError) => parsed({status: 'failed', error}, label)
  if (end.kind !== 'reply') {
    const {code, message} = end.error
    return failed({code, message})
  }
  try {
    if ('error' in end.reply) return failed(end.reply.error)
    return parsed('outcome' in end.reply ? end.reply.outcome : {}, 'result of the cell')
  } catch (error) {
    if (error instanceof RfaError) return failed({code: 'CELL_CRASHED', message: error.message})
    throw error
  }
}
