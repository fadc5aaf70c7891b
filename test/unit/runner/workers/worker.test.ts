import {type ChildProcess, fork, spawn} from 'node:child_process'
import {once} from 'node:events'
import {readFileSync} from 'node:fs'
import {cp, rm} from 'node:fs/promises'
import {join} from 'node:path'
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  onTestFinished,
} from 'vitest'
import {buildRunner, removeBuilt} from '../../../helpers/runner/built.js'
import {isRunning, jobFor} from '../../../helpers/runner/jobs.js'

let folder: string
let worker: ChildProcess

beforeAll(async () => {
  folder = await buildRunner()
})
afterAll(() => removeBuilt(folder))
beforeEach(() => {
  worker = fork(join(folder, 'runner', 'workers', 'worker.js'), [], {execArgv: []})
})
afterEach(() => {
  worker.kill('SIGKILL')
})

async function ask(id: number, job = jobFor('any', id)) {
  worker.send({id, experiment: 'variance', cell: job.cell, context: {}})
  const [reply] = await once(worker, 'message')
  return reply
}

describe('the worker', () => {
  it('runs one cell after the other and answers by the id of the request', async () => {
    const outcome = {
      status: 'completed',
      result: expect.objectContaining({backend: 'cpu', kernel: `pid ${worker.pid}`}),
    }
    expect(await ask(3)).toEqual({id: 3, outcome})
    expect(await ask(5)).toEqual({id: 5, outcome})
  })

  it('answers with the error of a cell, and lives on', async () => {
    const message = 'cell: expected another seed, got 666'
    expect(await ask(1, jobFor('any', 666))).toEqual({id: 1, error: {code: 'UNSUPPORTED', message}})
    expect(await ask(2)).toMatchObject({id: 2, outcome: {}})
  })

  it('answers with an error when the experiments cannot be loaded', async () => {
    const other = `${folder}-other`
    onTestFinished(() => removeBuilt(other))
    await cp(folder, other, {recursive: true})
    await rm(join(other, 'experiments'), {recursive: true})
    worker.kill('SIGKILL')
    worker = fork(join(other, 'runner', 'workers', 'worker.js'), [], {execArgv: []})
    expect(await ask(1)).toMatchObject({
      error: {code: 'CELL_CRASHED', message: expect.stringMatching(/Cannot find module/)},
    })
  })

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('leaves %s to its parent', async signal => {
    await ask(1)
    worker.kill(signal)
    expect(await ask(2)).toMatchObject({id: 2, outcome: {}})
  })

  it('ends when its parent leaves', async () => {
    await ask(1)
    worker.disconnect()
    const [code, signal] = await once(worker, 'exit')
    expect([code, signal]).toEqual([0, null])
  })
})

describe('a worker whose parent was killed', () => {
  it('ends with it in the midst of a cell', async () => {
    const named = join(folder, 'worker-pid')
    const parent = spawn(process.execPath, ['--input-type=module', '-e', ENDLESS_PARENT], {
      cwd: folder,
      env: {...process.env, RFA_TEST_FILE: named, JOB: JSON.stringify(jobFor('any', 667))},
      stdio: 'inherit',
    })
    onTestFinished(() => void parent.kill('SIGKILL'))
    const pidOfWorker = () => Number(readFileSync(named, {encoding: 'utf8', flag: 'a+'}))
    await expect.poll(pidOfWorker, {timeout: 120_000}).toBeGreaterThan(0)
    const busy = pidOfWorker()
    expect(isRunning(busy)).toBe(true)
    parent.kill('SIGKILL')
    onTestFinished(() => void (isRunning(busy) && process.kill(busy, 'SIGKILL')))
    await expect.poll(() => isRunning(busy), {timeout: 120_000}).toBe(false)
  })
})

/** Gives a worker a cell that never ends. */
const ENDLESS_PARENT = `
  import {WorkerProcess} from './runner/workers/worker-process.js'
  const {cell} = JSON.parse(process.env.JOB)
  const task = {experiment: 'variance', cell, context: {}}
  void new WorkerProcess({workerPath: './runner/workers/worker.js'}).run(task, null)
`
