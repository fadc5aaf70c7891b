import {bounded, messageOf, RfaError, type RfaErrorCode} from '../../errors.js'
import type {
  CellContext,
  CellOutcome,
  NextTurn,
  OnStep,
  YieldTurn,
} from '../../experiments/experiment.js'
import type {Job} from '../../experiments/planned-run.js'
import type {PluginRecord} from '../../plugins/record.js'
import type {CellError, Plan} from '../../results/record.js'
import type {PlanOptions, Preparation} from '../preparation.js'
import {Stopwatch} from './stopwatch.js'
import {isOfMemory, MORE_MEMORY, withCause} from './want-of-memory.js'

/** Run this cell. */
interface CellTask {
  /** Name of the experiment that the cell is of. */
  experiment: string
  cell: object
  context: CellContext
  /** Where its estimator comes from, if it is not built in. */
  plugins?: readonly PluginRecord[] | undefined
}

/** Make the jobs of this plan, on the backend that it asks for. */
export interface PlanTask extends PlanOptions {
  plan: Plan
}

/** Read once what the cells of this plan will read. */
export interface CheckTask {
  check: Plan
}

/** Begin a profile of what follows, or write it to a file. */
interface ProfileTask {
  profile: 'start' | {path: string}
}

export type WorkerTask = CellTask | PlanTask | CheckTask | ProfileTask

/** What a worker receives; the reply repeats the number. */
export type WorkerRequest = {id: number} & WorkerTask

/** The answer to a cell that has given up its turn. */
export type Turn = {id: number; next: NextTurn}

/** An error on its way between processes: all that an RfaError is made of but its cause; no code where it is none. */
export interface Refusal {
  code?: RfaErrorCode
  message: string
  suggestions: readonly string[]
  stack?: string | undefined
}

/** What a worker answers of a cell: how it ended, or the error it threw. */
export type CellReply = {id: number; outcome: CellOutcome} | {id: number; error: CellError}

/** What it answers of all its tasks. */
export type WorkerReply =
  | CellReply
  | {id: number; prepared: Preparation<readonly Job[] | null>}
  | {id: number; done: true}
  | {id: number; refusal: Refusal}

/** How far a cell is. */
export interface Progressed {
  /** Time of its turns that it still needs, in ms. */
  leftMs: number
  /** What its fastest call has taken so far; absent: it is not timed. */
  ns?: number | undefined
}

/** The progress of a cell. */
export type Sign = {id: number} & Progressed

/** A cell gives up its turn, and waits for the next. */
export type TurnOver = {id: number; turnOver: true}

/** All that a worker sends. */
export type WorkerMessage = WorkerReply | Sign | TurnOver

/** Whether something is what a worker sends, as far as its parent relies on that. */
export function isWorkerMessage(message: unknown): message is WorkerMessage {
  if (typeof message !== 'object' || message === null) return false
  const {id, leftMs = 0} = message as {id?: unknown; leftMs?: unknown}
  if (typeof id !== 'number' || typeof leftMs !== 'number') return false
  if ('leftMs' in message || 'turnOver' in message) return true
  return ['outcome', 'error', 'prepared', 'done', 'refusal'].some(kind => {
    const value: unknown = Reflect.get(message, kind)
    return kind === 'done' ? value === true : typeof value === 'object' && value !== null
  })
}

/** What a cell says and waits for on its way; see {@link CellContext}. */
interface DuringCell {
  onStep: OnStep
  yieldTurn: YieldTurn
}

/** How a worker speaks to its parent. */
export interface Line {
  send(message: Sign | TurnOver): void
  /** Waits for the next turn of a cell. */
  turn(id: number): Promise<Turn>
}

/** No listener, and no other cells. */
const NO_LINE: Line = {send: () => {}, turn: async id => ({id, next: 'alone'})}

/** How a worker does its tasks. */
export interface Skills {
  run(task: CellTask, during: DuringCell): Promise<CellOutcome>
  prepare(task: PlanTask): Promise<Preparation<readonly Job[] | null>>
  check(plan: Plan): Promise<void>
  profile(step: ProfileTask['profile']): Promise<void>
}

/** Least time between two signs of one cell, in ms. */
const SIGN_MS = 200

/**
 * Does what a request asks for; never throws.
 *
 * @param line - given signs of a cell on its way, at most every {@link SIGN_MS}
 * @returns the reply to send; errors of cells that are not RfaErrors have the code `CELL_CRASHED`
 */
export async function answer(
  request: WorkerRequest,
  skills: Skills,
  line: Line = NO_LINE,
): Promise<WorkerReply> {
  const {id} = request
  if ('cell' in request) return answerCell(request, skills, line)
  try {
    if ('plan' in request) return {id, prepared: await skills.prepare(request)}
    if ('check' in request) await skills.check(request.check)
    else await skills.profile(request.profile)
    return {id, done: true}
  } catch (error) {
    return {id, refusal: refusalOf(error)}
  }
}

async function answerCell(
  request: {id: number} & CellTask,
  {run}: Skills,
  {send, turn}: Line,
): Promise<CellReply> {
  const {id} = request
  const watch = new Stopwatch()
  const onStep = pacer(
    how => send({id, ...how}),
    () => watch.ms,
  )
  const yieldTurn = async () => {
    watch.stop()
    send({id, turnOver: true})
    const {next} = await turn(id)
    watch.start()
    return next
  }
  try {
    return {id, outcome: await run(request, {onStep, yieldTurn})}
  } catch (error) {
    const message = bounded(messageOf(error))
    if (error instanceof RfaError) return {id, error: {code: error.code, message}}
    return {id, error: {code: 'CELL_CRASHED', message: withCause(message)}}
  }
}

/**
 * From steps done to the time that those not done will take, at the pace since the first one.
 *
 * @param now - clock in ms, any origin
 */
export function pacer(
  report: (how: Progressed) => void,
  now: () => number = () => performance.now(),
): OnStep {
  let first: {at: number; done: number} | undefined
  let reported = now()
  return (done, total, ns) => {
    const at = now()
    first ??= {at, done}
    if (at - reported < SIGN_MS || done === first.done) return
    reported = at
    const leftMs = ((total - done) * (at - first.at)) / (done - first.done)
    report({leftMs, ...(ns !== undefined && {ns})})
  }
}

function refusalOf(error: unknown): Refusal {
  const message = messageOf(error)
  if (!(error instanceof RfaError)) {
    if (isOfMemory(message)) {
      return {code: 'TOO_LARGE', message: withCause(message), suggestions: [MORE_MEMORY]}
    }
    return {message, suggestions: [], stack: error instanceof Error ? error.stack : undefined}
  }
  const {code, suggestions} = error
  return {code, message, suggestions}
}

/** The error that a worker has reported. */
export function errorOf({code, message, suggestions, stack}: Refusal): Error {
  if (code !== undefined) return new RfaError(code, message, {suggestions})
  return Object.assign(new Error(message), stack === undefined ? {} : {stack})
}
