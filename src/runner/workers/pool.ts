import {rm} from 'node:fs/promises'
import {RfaError} from '../../errors.js'
import type {Experiment} from '../../experiments/experiment.js'
import type {Job} from '../../experiments/planned-run.js'
import {type PluginRecord, pluginDigest, pluginOf} from '../../plugins/record.js'
import {parseRecord} from '../../results/journal/parse-record.js'
import type {CellError, CellRecord, Completed, ComputedBy} from '../../results/record.js'
import {Deal, type Part, partsOf, trialsOf} from '../schedule/parts.js'
import type {Schedule} from '../schedule/schedule.js'
import {type Place, Turns} from '../schedule/turns.js'
import type {Progressed} from './protocol.js'
import {SharedWorkers, type TakenWorker} from './shared-workers.js'
import {type JobEnd, requireWorker, type WorkerOptions, WorkerProcess} from './worker-process.js'

/** How long a timed cell that is interrupted may take to end its turn and to send its result, in ms. */
const LAST_TURN_MS = 2000

/** How long another cell that is interrupted may take to send what it has, in ms. */
const LAST_PART_MS = 10_000

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
  /** Gives further workers that are there already, for as long as there are any. Default: none is */
  takeOther?: (() => WorkerProcess | undefined) | undefined
  /** Leave that one running when the jobs have ended: whoever has started it has more for it. */
  keepWorker?: boolean | undefined
  /** Stops everything. */
  signal?: AbortSignal | undefined
  /** Called when a job begins in one of its processes, and when it has ended there. */
  onStart?: ((part: Part) => void) | undefined
  onEnd?: ((part: Part) => void) | undefined
  /** Called with how far a running process is. */
  onHeard?: ((part: Part, how: Progressed) => void) | undefined
  /** Called when a timed cell gives up its turn, and when it has the next. */
  onTurn?: ((part: Part, begins: boolean) => void) | undefined
  /** Where each worker writes a profile of itself when it ends; called once for each. Default: nowhere. */
  profileFile?: (() => string) | undefined
  /** Where a job may keep how far it is, by its key; removed with its record. Default: nowhere. */
  checkpointFile?: ((key: string) => string) | undefined
  /** How long a worker may take to write it, in ms: after its last cell, and when it is stopped in one. */
  profilePatienceMs?: {ended: number; stopped: number}
  /** Called with what went wrong without harm to the records. */
  onWarning?: ((text: string) => void) | undefined
}

/** Called with the record of a job that has ended. */
export type OnRecord = (record: CellRecord) => Promise<void> | void

/**
 * Runs jobs in child processes. They begin in the order given, those of a group in one process; records come as jobs end. A job with a process that
 * dies or takes too long becomes a failed record, and the others continue in a new process.
 *
 * @param onRecord - awaited before its worker takes another job; an error of it stops everything
 * @throws {INTERRUPTED} when the signal came before the last job had ended: workers are killed, and their jobs
 * leave no record, except that timed ones send what they measured; `onRecord` is not called after the promise is
 * rejected
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

/** No job any more. */
const END = {value: undefined, done: true} as const

/** What is known of a job on its way. */
interface Underway {
  job: Job
  trial?: ComputedBy
  /** Results of its other processes, by their places. */
  results: Map<number, ComputedBy>
  /** Whether it has its record: results of its other processes are ignored. */
  ended: boolean
}

class Pool {
  readonly #count: number
  /** Those that have not begun. */
  readonly #trials: Part[][]
  /** Processes of jobs that have not begun; they are made as they begin. */
  readonly #parts: IterableIterator<Part>
  readonly #options: PoolOptions
  readonly #onRecord: OnRecord
  readonly #workers = new Set<WorkerProcess>()
  /** Those that are profiled. */
  readonly #profiled = new Set<WorkerProcess>()
  /** Ends on their way: who asks for one again waits for the same. */
  readonly #ends = new Map<WorkerProcess, Promise<void>>()
  readonly #shared: SharedWorkers
  /** Jobs with a process that has begun, by their keys. */
  readonly #underway = new Map<string, Underway>()
  /** The worker that was there already, until a lane takes it. */
  #spare: WorkerProcess | undefined
  /** Turns of lanes with timed cells. */
  readonly #turns = new Turns()
  #ended = 0
  #stopped = false

  constructor(jobs: readonly Job[], options: PoolOptions, onRecord: OnRecord) {
    this.#count = jobs.length
    this.#trials = trialsOf(jobs, options.experiment)
    this.#parts = partsOf(jobs, options.experiment)
    this.#options = options
    this.#onRecord = onRecord
    this.#spare = options.worker
    this.#shared = new SharedWorkers({
      start: () => this.#workerFor(undefined),
      retire: worker => this.#retire(worker),
    })
  }

  /**
   * Ends everything: timed cells send what they have; other workers are killed, and lanes end as soon as they notice.
   */
  stop(): void {
    this.#stopped = true
    this.#turns.close()
    const {fresh} = this.#options.schedule
    if (!this.#keepsParts) this.#killAll()
    else setTimeout(() => this.#killAll(), fresh ? LAST_TURN_MS : LAST_PART_MS).unref()
  }

  /** Whether cells send what they have. */
  get #keepsParts(): boolean {
    const {schedule, experiment} = this.#options
    return schedule.fresh || experiment.keepsParts === true
  }

  #killAll(): void {
    for (const worker of this.#workers) void this.#endWorker(worker)
  }

  async run(): Promise<void> {
    const {processes, fresh, open, trials} = this.#options.schedule
    if (fresh) {
      await this.#together(trials, () => this.#trialLane())
      await this.#together(open, () => this.#timedLane())
    } else {
      const deal = new Deal(this.#parts)
      await this.#together(processes, () => this.#lane(deal))
    }
    const left = this.#count - this.#ended
    if (left > 0) {
      const partly = await this.#tellPartly()
      const all = `of ${this.#count} cells`
      const notRun = left > partly ? [`${left - partly} ${all} not run`] : []
      const inPart = partly > 0 ? [`${partly} ${all} measured in part`] : []
      throw new RfaError('INTERRUPTED', `interrupted: ${[...notRun, ...inPart].join(', ')}`)
    }
  }

  /** Runs lanes until all have ended. @throws what the first one throws that fails */
  async #together(lanes: number, lane: () => Promise<void>): Promise<void> {
    const running = Array.from({length: Math.min(lanes, this.#count)}, lane)
    const ends = await Promise.allSettled(running)
    await this.#shared.retireAll()
    const failure = ends.find(end => end.status === 'rejected')
    if (failure) throw failure.reason
  }

  /** Records of jobs that were interrupted, as far as they were measured. @returns how many */
  async #tellPartly(): Promise<number> {
    const partly = [...this.#underway.values()].filter(
      ({ended, results}) => !ended && results.size > 0,
    )
    for (const one of partly)
      await this.#onRecord({...(await this.#joined(one)), interrupted: true})
    return partly.length
  }

  /**
   * Takes jobs until there are none, one at a time. Each plug-in has a separate worker: what it throws late, or
   * changes in its process, does not affect other methods.
   */
  async #lane(deal: Deal): Promise<void> {
    const workers = new Map<string | undefined, WorkerProcess>()
    try {
      while (!this.#stopped) {
        const part = deal.next(workers)
        if (!part) break
        const plugin = pluginOf(part.cell)
        const worker = await this.#workerFor(workers.get(plugin))
        workers.set(plugin, worker)
        if (this.#stopped) break
        await this.#runOne(part, worker)
      }
    } catch (error) {
      this.#abort()
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

  /** Ends everything at once. */
  #abort(): void {
    this.stop()
    this.#killAll()
  }

  /** Takes trials until there are none, those of a process together. */
  async #trialLane(): Promise<void> {
    try {
      for (let parts = this.#trials.shift(); parts; parts = this.#trials.shift()) {
        let worker: WorkerProcess | undefined
        for (const part of parts) {
          if (this.#stopped) break
          worker = await this.#workerFor(worker)
          if (!this.#stopped) await this.#runOne(part, worker)
        }
        await this.#retire(worker)
      }
    } catch (error) {
      this.#abort()
      throw error
    }
  }

  /** The same with timed cells, in turns with other such lanes, from the start of each to its end. */
  async #timedLane(): Promise<void> {
    const place = this.#turns.place()
    try {
      for (;;) {
        await place.prepare()
        const {value: part, done} = this.#stopped ? END : this.#parts.next()
        if (done) break
        if (!this.#underway.get(part.job.key)?.ended) await this.#runTimed(part, place)
        place.leave()
      }
    } catch (error) {
      this.#abort()
      throw error
    } finally {
      place.leave()
    }
  }

  /** Where another cell has ended the process that it shared, it begins again in a new one. */
  async #runTimed(part: Part, place: Place): Promise<void> {
    while (!this.#stopped) {
      const {worker, release} = await this.#freshWorkerFor(part)
      const ended = this.#stopped || (await this.#runOne(part, worker, place))
      if (!ended) place.leave()
      await release()
      if (ended) return
      await place.prepare()
    }
  }

  /** A worker that no other cell has, or that of those which share one in this round. */
  async #freshWorkerFor({cell, index}: Part): Promise<TakenWorker> {
    const kind = this.#options.experiment.processes?.sharingKey?.(cell)
    if (kind === undefined) {
      const worker = await this.#workerFor(undefined)
      return {worker, release: () => this.#retire(worker)}
    }
    return this.#shared.take(kind, index)
  }

  /** @returns whether it has ended: not where its process has died in a turn of another cell */
  async #runOne(part: Part, worker: WorkerProcess, place?: Place): Promise<boolean> {
    const {experiment, schedule, timeoutMs, onStart, onEnd, onHeard, onTurn} = this.#options
    onStart?.(part)
    const {job, cell, index: process} = part
    const {threadShare, processes} = schedule
    const checkpoint = this.#options.checkpointFile?.(job.key)
    const rest = experiment.processes?.trial?.(job.cell) && {part: 'rest' as const}
    const context = {
      ...{threadShare, processes, process, ...(checkpoint && {checkpoint})},
      ...(part.isTrial ? {part: 'trial' as const} : rest),
    }
    const plugins = pluginsOf(cell, this.#options.plugins)
    const task = {experiment: experiment.name, cell, context, ...(plugins && {plugins})}
    const yieldTurn = async () => {
      if (!place) return this.#stopped ? 'none' : 'alone'
      onTurn?.(part, false)
      const next = await place.pass()
      onTurn?.(part, true)
      return next
    }
    const heard = (how: Progressed) => onHeard?.(part, how)
    const underway = this.#underwayOf(job)
    const end = await worker.run(task, timeoutMs, {onHeard: heard, yieldTurn})
    onEnd?.(part)
    if (end.kind === 'died' && place && !place.holds && !this.#stopped) return false
    // killed by us, or without a turn: not a fault of the cell
    const unreported = end.kind !== 'reply' || (this.#keepsParts && 'error' in end.reply)
    if (this.#stopped && unreported) return true
    await this.#take(underway, part, recordOf(experiment, part, end))
    return true
  }

  #underwayOf(job: Job): Underway {
    const underway = this.#underway.get(job.key) ?? {job, results: new Map(), ended: false}
    this.#underway.set(job.key, underway)
    return underway
  }

  /** Takes what a process has found: with the last one, or one that found nothing, the job has its record. */
  async #take(
    underway: Underway,
    {isTrial, index, count}: Part,
    record: CellRecord,
  ): Promise<void> {
    if (underway.ended) return
    const completed = record.status === 'completed'
    if (completed && isTrial) {
      underway.trial = record.result
      return
    }
    if (completed) {
      underway.results.set(index, record.result)
      // a process that ended after the interrupt may have left out turns
      const cut = this.#stopped && this.#keepsParts
      if (cut || underway.results.size < count) return
    }
    underway.ended = true
    const {key, cell} = underway.job
    const whole = completed ? await this.#joined(underway) : {...record, key, cell}
    underway.results.clear()
    if (count === 1 && !isTrial) this.#underway.delete(key)
    await this.#onRecord(whole)
    const checkpoint = this.#options.checkpointFile?.(key)
    // a cell that failed may go on from there when it is run again
    if (checkpoint && whole.status !== 'failed') await rm(checkpoint, {force: true})
    this.#ended++
  }

  /** The record of a job from the results that there are. */
  async #joined({job, trial, results}: Underway): Promise<Completed<object, ComputedBy>> {
    const {experiment} = this.#options
    const ordered = [...results].sort(([a], [b]) => a - b).map(([, result]) => result)
    const {schema, processes} = experiment
    const {key, cell} = job
    const result = processes ? await processes.merge(ordered, trial) : ordered[0]!
    return {schema, key, cell, status: 'completed', result}
  }

  /** The same worker as long as it may serve again, else a new one. */
  async #workerFor(worker: WorkerProcess | undefined): Promise<WorkerProcess> {
    if (worker?.alive) return worker
    await this.#retire(worker)
    const ready = this.#spare ?? this.#options.takeOther?.()
    const next = ready?.alive ? ready : new WorkerProcess(this.#options)
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
  if (end.kind === 'timeout') return 'its worker was computing a cell'
  if (end.kind === 'died') return end.error.message
  return 'refusal' in end.reply ? end.reply.refusal.message : undefined
}

/** The record of what ended in a process. What does not fit its schema is a failure of the cell too. */
function recordOf(experiment: Experiment, {job, cell}: Part, end: JobEnd): CellRecord {
  const {key, label} = job
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
