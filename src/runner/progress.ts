import type {Experiment, TimedSoFar} from '../experiments/experiment.js'
import type {Job} from '../experiments/planned-run.js'
import type {Part} from './schedule/parts.js'
import type {Progressed} from './workers/protocol.js'
import {Stopwatch} from './workers/stopwatch.js'

export interface ProgressEvent {
  /** Cells that have ended, those of an earlier session included. */
  done: number
  total: number
  /** The cell that computes; of several, the one begun last. Empty when none runs. */
  label: string
  /** What is known of it so far; empty: nothing. */
  soFar: string
  /** Time left, in ms. */
  etaMs: number
  /** Share of this session's time that has gone by, from 0 to 1. */
  share: number
  /** Whether it is based on predicted costs only: no cell has ended or reported its progress. */
  rough: boolean
  /** Cells that failed, of those done. */
  failed: number
}

/** Counts cells and estimates the time left. */
export interface ProgressMeter {
  start(part: Part): ProgressEvent
  /** Takes what a running cell says of itself. */
  hear(part: Part, how: Progressed): void
  /** Called when a running cell gives up its turn, and when it has the next: the time between does not count. */
  turn(part: Part, begins: boolean): void
  /** Called when a cell has ended in one of its processes. */
  end(part: Part): void
  /** Counts a cell that has ended as a whole. */
  count(failed: boolean): ProgressEvent
  /** How far the run is now, in the midst of cells. */
  look(): ProgressEvent
}

export interface Metered {
  /** The cells of this session. */
  jobs: readonly Job[]
  /** Cells that an earlier session has done. */
  reused: number
  /** Processes that run at once. */
  processes: number
  /** Predicted time of a cell in all of its processes, in ms. */
  predictedMs(job: Job): number
  /** What the first cell of each process takes besides, in ms. Default: 0. */
  coldMs?: number
  /** As of its experiment. */
  soFar?: Experiment['soFar']
  /** Clock in ms, any origin. */
  now?: () => number
}

/** A cell on its way. */
interface Running {
  job: Job
  predictedMs: number
  /** Its own time. */
  watch: Stopwatch
  /** What it last said, and when by that watch. */
  heard?: {leftMs: number; at: number}
}

/** Trust in the predictions, as so much time that they were right about, in ms; or a share of a shorter run. */
const TRUST = {ms: 1000, share: 0.05}
/** A cell that takes longer than predicted is expected to take a tenth longer than it has. */
const OVERTIME = 0.1

/**
 * Makes the meter of a run. Time left is predicted time, corrected by cells that have ended, that report their
 * progress, or that run for longer than predicted.
 */
export function progressMeter(metered: Metered): ProgressMeter {
  const {jobs, reused, processes, predictedMs, coldMs = 0} = metered
  const now = metered.now ?? (() => performance.now())
  let cold = Math.min(processes, jobs.length)
  let waitingMs = jobs.reduce((sum, job) => sum + predictedMs(job), cold * coldMs)
  const trustMs = Math.min(TRUST.ms, TRUST.share * waitingMs)
  const running = new Map<Part, Running>()
  const timed = new Map<Job, TimedSoFar>()
  const soFar = (job: Job | undefined) => {
    const times = job && timed.get(job)
    return (times && metered.soFar?.(times, [...timed.values()])) ?? ''
  }
  const ended = {count: 0, failed: 0, parts: 0, predictedMs: 0, tookMs: 0}
  const begin = now()
  const eta = () => timeLeft([...running.values()], {ended, trustMs, waitingMs, processes})
  const look = (): ProgressEvent => {
    const etaMs = ended.count === jobs.length ? 0 : eta()
    const goneMs = now() - begin
    const job = shown([...running.values()])?.job
    return {
      done: reused + ended.count,
      total: reused + jobs.length,
      label: job?.label ?? '',
      soFar: soFar(job),
      etaMs,
      share: etaMs > 0 ? goneMs / (goneMs + etaMs) : 1,
      rough: ended.parts === 0 && ![...running.values()].some(({heard}) => heard),
      failed: ended.failed,
    }
  }
  return {
    look,
    start(part) {
      const {job, share} = part
      const predicted = predictedMs(job) * share + (cold > 0 ? coldMs : 0)
      cold = Math.max(0, cold - 1)
      waitingMs = Math.max(0, waitingMs - predicted)
      running.set(part, {job, predictedMs: predicted, watch: new Stopwatch(now)})
      return look()
    },
    hear(part, {leftMs, ns = Number.POSITIVE_INFINITY}) {
      const cell = running.get(part)
      if (cell) cell.heard = {leftMs, at: cell.watch.ms}
      const {job} = part
      const least = Math.min(ns, timed.get(job)?.ns ?? ns)
      if (least < Number.POSITIVE_INFINITY) timed.set(job, {cell: job.cell, ns: least})
    },
    turn(part, begins) {
      const watch = running.get(part)?.watch
      if (begins) watch?.start()
      else watch?.stop()
    },
    end(part) {
      const cell = running.get(part)
      running.delete(part)
      ended.parts++
      ended.predictedMs += cell?.predictedMs ?? 0
      ended.tookMs += cell?.watch.ms ?? 0
    },
    count(hasFailed) {
      ended.count++
      if (hasFailed) ended.failed++
      return look()
    },
  }
}

/** What is known in addition to the running cells. */
interface Known {
  ended: {predictedMs: number; tookMs: number}
  trustMs: number
  /** Predicted time of the cells that have not begun. */
  waitingMs: number
  processes: number
}

/** The cell that has its turn; of several, the one begun last. */
function shown(running: readonly Running[]): Running | undefined {
  return running.findLast(({watch}) => watch.running) ?? running.at(-1)
}

function timeLeft(running: readonly Running[], known: Known): number {
  const slowness = slownessOf(running, known)
  const rests = running.map(cell => restOf(cell, slowness))
  const all = rests.reduce((sum, rest) => sum + rest, known.waitingMs * slowness)
  return Math.max(all / known.processes, ...rests)
}

/** How many times longer cells take than predicted. */
function slownessOf(running: readonly Running[], {ended, trustMs}: Known): number {
  let predicted = trustMs + ended.predictedMs
  let took = trustMs + ended.tookMs
  for (const {predictedMs, watch, heard} of running) {
    const used = heard?.at ?? watch.ms
    if (!heard && used <= predictedMs) continue
    predicted += heard ? (predictedMs * used) / (used + heard.leftMs) : predictedMs
    took += used
  }
  return predicted > 0 ? took / predicted : 1
}

/** What a cell that runs still needs. */
function restOf({predictedMs, watch, heard}: Running, slowness: number): number {
  const used = watch.ms
  if (heard) return Math.max(0, heard.leftMs - (used - heard.at))
  return Math.max(predictedMs * slowness - used, OVERTIME * used)
}
