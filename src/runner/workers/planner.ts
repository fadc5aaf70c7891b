/** Asks a worker for what comes before the first cell. The program itself then loads no tensors. */
import {RfaError} from '../../errors.js'
import {planRun, stopCountingPlugins} from '../../experiments/planned-run.js'
import type {Plan} from '../../results/record.js'
import type {PlanOptions, Preparation} from '../preparation.js'
import {errorOf, type WorkerReply} from './protocol.js'
import {MORE_MEMORY} from './want-of-memory.js'
import {type Death, type JobEnd, WorkerProcess} from './worker-process.js'

/**
 * {@link prepareRun} in a worker; if there are too many jobs to send, they are made here, one by one as they begin.
 * Planning calls estimators to count their memory. If a plug-in ends the process there, or does not return within
 * the limit of a cell, the plan is made again without calling plug-ins: only their cells fail.
 *
 * @param options.timeoutMs - longest time of a cell. Default: no limit
 * @throws what that throws, {TOO_LARGE} when the worker dies for want of memory, and {BACKEND_NOT_READY} when it dies
 *   of something else or cannot be started
 */
export async function askForPlan(
  plan: Plan,
  worker: WorkerProcess,
  {
    force = false,
    timeoutMs = null,
    shards,
  }: Omit<PlanOptions, 'uncounted'> & {timeoutMs?: number | null} = {},
): Promise<Preparation> {
  const {plugins = []} = plan
  const limit = plugins.length > 0 ? timeoutMs : null
  const end = await worker.run({plan, force, shards}, limit)
  if (end.kind === 'reply' || plugins.length === 0) return planOf(replyOf(end))
  const again = await inFreshWorker(async fresh => {
    const task = {plan, force, shards, uncounted: true}
    return planOf(replyOf(await fresh.run(task, null)), () => stopCountingPlugins(plan))
  })
  return {...again, serves: false, warnings: [...again.warnings, unpredicted(plan, end)]}
}

/** @param before - done before jobs are made here. Default: nothing */
async function planOf(
  reply: WorkerReply,
  before: () => Promise<void> = async () => {},
): Promise<Preparation> {
  if (!('prepared' in reply)) throw unexpected(reply)
  const {jobs, ...prepared} = reply.prepared
  if (jobs) return {...prepared, jobs}
  await before()
  return {...prepared, jobs: (await planRun(prepared.plan)).jobs}
}

function unpredicted({plugins = []}: Plan, end: Exclude<JobEnd, {kind: 'reply'}>): string {
  const names = plugins.flatMap(({methods}) => methods).join(', ')
  const why =
    end.kind === 'timeout' ? 'a call of one did not end within --timeout' : end.error.message
  return `memory and time of ${names} are not predicted: ${why}`
}

/** {@link checkInput} in a worker, a new one if that has died. @throws what that throws, and as {@link askForPlan} */
export async function askForCheck(plan: Plan, worker: WorkerProcess): Promise<void> {
  const check = async (living: WorkerProcess) => {
    const reply = replyOf(await living.run({check: plan}, null), true)
    if (!('done' in reply)) throw unexpected(reply)
  }
  return worker.alive ? check(worker) : inFreshWorker(check)
}

async function inFreshWorker<T>(action: (worker: WorkerProcess) => Promise<T>): Promise<T> {
  const worker = new WorkerProcess()
  try {
    return await action(worker)
  } finally {
    await worker.kill()
  }
}

/** @param reading - whether the input was read, in messages */
function replyOf(end: JobEnd, reading = false): WorkerReply {
  if (end.kind === 'died' && end.error.ofMemory) throw wantOfMemory(end.error, reading)
  if (end.kind !== 'reply') {
    const suggestions = ['run it again', 'run rfa doctor']
    throw new RfaError('BACKEND_NOT_READY', end.error.message, {suggestions})
  }
  if ('refusal' in end.reply) throw errorOf(end.reply.refusal)
  return end.reply
}

function wantOfMemory({message}: Death, reading: boolean): RfaError {
  const activity = reading ? 'reading the input' : 'making the plan'
  return new RfaError('TOO_LARGE', `memory ran out while ${activity}: ${message}`, {
    suggestions: [MORE_MEMORY, ...(reading ? ['write a shorter excerpt of the input'] : [])],
  })
}

function unexpected(reply: WorkerReply): Error {
  return new Error(`a worker answered with ${Object.keys(reply).join(' and ')}`)
}
