import {type ChildProcess, fork} from 'node:child_process'
import {once} from 'node:events'
import {rm} from 'node:fs/promises'
import {join} from 'node:path'
import {afterAll, afterEach, beforeAll, beforeEach, describe, expect, it} from 'vitest'
import {buildRunner, removeBuilt} from './support/built.js'
import {jobFor} from './support/jobs.js'

let folder: string
let worker: ChildProcess

beforeAll(async () => {
  folder = await buildRunner()
})
afterAll(() => removeBuilt(folder))
beforeEach(() => {
  worker = fork(join(folder, 'runner', 'worker.js'), [], {execArgv: []})
})
afterEach(() => {
  worker.kill('SIGKILL')
})

async function ask(id: number, job = jobFor('any', id)) {
  worker.send({id, job})
  const [reply] = await once(worker, 'message')
  return reply
}

describe('the worker', () => {
  it('runs one cell after the other and answers by the id of the request', async () => {
    const outcome = {
      status: 'completed',
      result: expect.objectContaining({backend: 'rfa.variance/1', kernel: `pid ${worker.pid}`}),
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
    const other = await buildRunner()
    await rm(join(other, 'experiments'), {recursive: true})
    worker.kill('SIGKILL')
    worker = fork(join(other, 'runner', 'worker.js'), [], {execArgv: []})
    expect(await ask(1)).toMatchObject({
      error: {code: 'CELL_CRASHED', message: expect.stringMatching(/Cannot find module/)},
    })
    await removeBuilt(other)
  })

  it('does not care about Ctrl-C', async () => {
    await ask(1)
    worker.kill('SIGINT')
    expect(await ask(2)).toMatchObject({id: 2, outcome: {}})
  })

  it('ends when its parent leaves', async () => {
    await ask(1)
    worker.disconnect()
    const [code, signal] = await once(worker, 'exit')
    expect([code, signal]).toEqual([0, null])
  })
})
