import {messageOf, RfaError, type RfaErrorCode} from '../errors.js'
import type {CellContext, CellOutcome} from '../experiments/experiment.js'
import type {CellError, Plan} from '../results/record.js'
import type {Preparation} from './preparation.js'

/** Run this cell. */
export interface CellTask {
  /** Name of the experiment that the cell is of. */
  experiment: string
  cell: object
  context: CellContext
}

/** Make the jobs of this plan, on the backend that it asks for. */
export interface PlanTask {
  plan: Plan
}

/** Read once what the cells of this plan will read. */
export interface CheckTask {
  check: Plan
}

/** Begin a profile of what follows, or write it to a file. */
export interface ProfileTask {
  profile: 'start' | {path: string}
}

export type WorkerTask = CellTask | PlanTask | CheckTask | ProfileTask

/** What a worker is told; the number is given back in the reply. */
export type WorkerRequest = {id: number} & WorkerTask

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
  | {id: number; prepared: Preparation}
  | {id: number; done: true}
  | {id: number; refusal: Refusal}

/** How a worker does its tasks. */
export interface Skills {
  run(task: CellTask): Promise<CellOutcome>
  prepare(plan: Plan): Promise<Preparation>
  check(plan: Plan): Promise<void>
  profile(step: ProfileTask['profile']): Promise<void>
}

/**
 * Does what a request asks for; never throws.
 *
 * @returns the reply to send; errors of cells that are not RfaErrors have the code `CELL_CRASHED`
 */
export async function answer(request: WorkerRequest, skills: Skills): Promise<WorkerReply> {
  const {id} = request
  if ('cell' in request) return answerCell(request, skills)
  try {
    if ('plan' in request) return {id, prepared: await skills.prepare(request.plan)}
    if ('check' in request) await skills.check(request.check)
    else await skills.profile(request.profile)
    return {id, done: true}
  } catch (error) {
    return {id, refusal: refusalOf(error)}
  }
}

async function answerCell(request: {id: number} & CellTask, {run}: Skills): Promise<CellReply> {
  const {id} = request
  try {
    return {id, outcome: await run(request)}
  } catch (error) {
    const code = error instanceof RfaError ? error.code : 'CELL_CRASHED'
    return {id, error: {code, message: messageOf(error)}}
  }
}

function refusalOf(error: unknown): Refusal {
  const message = messageOf(error)
  if (!(error instanceof RfaError)) {
    return {message, suggestions: [], stack: error instanceof Error ? error.stack : undefined}
  }
  const {code, suggestions} = error
  return {code, message, suggestions}
}

/** The error that a worker has told of. */
export function errorOf({code, message, suggestions, stack}: Refusal): Error {
  if (code !== undefined) return new RfaError(code, message, {suggestions})
  return Object.assign(new Error(message), stack === undefined ? {} : {stack})
}
