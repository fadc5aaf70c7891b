/**
 * A child process that makes plans and runs cells, one at a time, as its parent asks: started by the pool or ahead of
 * it, never by hand, with the number of its parent as argument, and ahead of it with the name of the experiment. It
 * holds no terminal and no files; all it says goes back as messages. When its parent is gone it ends, in the midst of
 * a cell too.
 */
import {Worker} from 'node:worker_threads'
import type {PluginRecord} from '../../plugins/record.js'
import {answer, type Line, type Skills, type Turn, type WorkerRequest} from './protocol.js'

const [, , parent = process.ppid, ahead] = process.argv
if (process.platform !== 'win32') {
  const workerData = {parent: Number(parent)}
  new Worker(new URL('parent-watch.js', import.meta.url), {workerData}).unref()
}

// a terminal or a scheduler sends these to every process; what happens to cells on their way is the
// parent's choice
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {})
process.on('disconnect', () => process.exit())

// loaded here, so that what cannot be loaded fails the task with a sentence
const preparation = () => import('../preparation.js')
const skills: Skills = {
  run: async ({experiment, cell, context, plugins}, during) => {
    await trust(plugins)
    if (plugins) await (await import('../../plugins/load.js')).requirePlugins(plugins)
    const {experimentNamed} = await import('../../experiments/index.js')
    return (await experimentNamed(experiment)).run(cell, {...context, ...during})
  },
  prepare: async task => {
    await trust(task.plan.plugins)
    return (await preparation()).prepareRun(task.plan, task)
  },
  check: async plan => (await preparation()).checkInput(plan),
  profile: async step => {
    const {saveProfile, startProfile} = await import('./profiler.js')
    return step === 'start' ? startProfile() : saveProfile(step.path)
  },
}

/** Plug-ins that the parent sends may be loaded: it has had each of them named. */
async function trust(plugins: readonly PluginRecord[] | undefined): Promise<void> {
  if (plugins) (await import('../../plugins/load.js')).trustPlugins(plugins)
}

/** Cells that wait for their turn, by the numbers of their requests. */
const waiting = new Map<number, (turn: Turn) => void>()
const line: Line = {
  send: message => process.send?.(message),
  turn: id => new Promise(begin => waiting.set(id, begin)),
}

process.on('message', async (message: WorkerRequest | Turn) => {
  if ('next' in message) waiting.get(message.id)?.(message)
  else process.send?.(await answer(message, skills, line))
})

// what fails here fails again, and is reported, when a task needs it
if (ahead !== undefined)
  preparation()
    .then(({warmUp}) => warmUp(ahead))
    .catch(() => {})
