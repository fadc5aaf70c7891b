/** Asks a worker for what comes before the first cell. The program itself then loads no tensors. */
import {RfaError} from '../errors.js'
import {layOut} from '../experiments/planned-run.js'
import type {Plan} from '../results/record.js'
import type {Preparation} from './preparation.js'
import {type CheckTask, errorOf, type PlanTask, type WorkerReply} from './protocol.js'
import {MORE_MEMORY} from './want-of-memory.js'
import type {Death, WorkerProcess} from './worker-process.js'

/**
 * {@link prepareRun} in a worker; jobs that are too many to be told are made here, one by one as they begin.
 *
 * @throws what that throws, {TOO_LARGE} when the worker dies for want of memory, and {BACKEND_NOT_READY} when it dies
 *   of something else or cannot be started
 */
export async function askForPlan(
  asked: Plan,
  worker: WorkerProcess,
  force = false,
): Promise<Preparation> {
  const reply = await ask(worker, {plan: asked, force})
  if (!('prepared' in reply)) throw unexpected(reply)
  const {jobs, ...prepared} = reply.prepared
  return {...prepared, jobs: jobs ?? (await layOut(prepared.plan)).jobs}
}

/** {@link checkInput} in a worker. @throws what that throws, and as {@link askForPlan} */
export async function askForCheck(plan: Plan, worker: WorkerProcess): Promise<void> {
  const reply = await ask(worker, {check: plan})
  if (!('done' in reply)) throw unexpected(reply)
}

async function ask(worker: WorkerProcess, task: PlanTask | CheckTask): Promise<WorkerReply> {
  const end = await worker.run(task, null)
  if (end.kind === 'died' && end.error.ofMemory) throw wantOfMemory(end.error, 'check' in task)
  if (end.kind !== 'reply') {
    throw new RfaError('BACKEND_NOT_READY', end.error.message, {suggestions: ['run rfa doctor']})
  }
  if ('refusal' in end.reply) throw errorOf(end.reply.refusal)
  return end.reply
}

function wantOfMemory({message}: Death, reading: boolean): RfaError {
  const what = reading ? 'reading the input' : 'making the plan'
  return new RfaError('TOO_LARGE', `memory ran out while ${what}: ${message}`, {
    suggestions: [MORE_MEMORY, ...(reading ? ['write a shorter excerpt of the input'] : [])],
  })
}

function unexpected(reply: WorkerReply): Error {
  return new Error(`a worker answered with ${Object.keys(reply).join(' and ')}`)
}
