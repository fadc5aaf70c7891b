import {createHash} from 'node:crypto'
import {writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {describe, expect, it, onTestFinished} from 'vitest'
import {planRun} from '../../../../src/experiments/planned-run.js'
import {askForCheck, askForPlan} from '../../../../src/runner/workers/planner.js'
import {type WorkerOptions, WorkerProcess} from '../../../../src/runner/workers/worker-process.js'
import {sample} from '../../../helpers/effort.js'
import {temporaryFolder} from '../../../helpers/folders.js'
import {bench, method, sweep} from '../../../helpers/plans.js'
import {reluMap, writeFiles} from '../../../helpers/plugins.js'

const folder = temporaryFolder()

/** A worker that goes at the end of the test. */
function worker(workerPath?: string, options: WorkerOptions = {}): WorkerProcess {
  const started = new WorkerProcess({workerPath, ...options})
  onTestFinished(() => started.kill())
  return started
}

/** A worker that runs this. */
function scripted(script: string, options?: WorkerOptions): WorkerProcess {
  const path = join(folder, 'worker.mjs')
  writeFileSync(path, script)
  return worker(path, options)
}

const KILLED = "process.on('message', () => process.kill(process.pid, 'SIGKILL'))"

describe('a worker that is asked for a plan', () => {
  it('gives the jobs that this process would make', async () => {
    const plan = sweep()
    const asked = worker()
    const {jobs, ...others} = await askForPlan(plan, asked)
    expect(jobs).toEqual(JSON.parse(JSON.stringify((await planRun(plan)).jobs)))
    expect(others).toEqual({
      ...{plan, threading: 'one', notes: [], warnings: [], serves: true},
      heldBytes: expect.any(Number),
    })
    await expect(askForCheck(plan, asked)).resolves.toBeUndefined()
  })

  it('leaves jobs that are too many to be told to this process', async () => {
    const plan = sweep()
    const reply =
      "process.on('message', ({id, plan}) => process.send({id, prepared: {plan, jobs: null}}))"
    expect(await askForPlan(plan, scripted(reply))).toEqual(
      expect.objectContaining({plan, jobs: (await planRun(plan)).jobs}),
    )
  })

  it('refuses what cannot run with the error of the library, and lives on', async () => {
    const asked = worker()
    await expect(askForPlan(bench({threads: 2}), asked)).rejects.toMatchObject({
      name: 'RfaError',
      code: 'UNSUPPORTED',
      suggestions: ['use `backend: native`'],
    })
    expect((await askForPlan(bench(), asked)).jobs).not.toEqual([])
  })

  it('may die of it', async () => {
    const dying = scripted("process.on('message', () => process.exit(7))")
    await expect(askForPlan(sweep(), dying)).rejects.toMatchObject({
      code: 'BACKEND_NOT_READY',
      message: 'the worker process exited with code 7',
    })
  })

  it.each([
    [
      'by another program',
      () => 3,
      'BACKEND_NOT_READY',
      /^the worker process .* SIGKILL \(by another program/,
    ],
    ['and nobody knows why', () => undefined, 'TOO_LARGE', /when memory runs out/],
  ])('may be killed %s', async (_, endedForMemory, code, message) => {
    const planning = askForPlan(sweep(), scripted(KILLED, {endedForMemory}))
    await expect(planning).rejects.toMatchObject({code, message: expect.stringMatching(message)})
  })

  it('may run out of memory, which is reported as that', async () => {
    let count = 0
    const counts = {endedForMemory: () => count++}
    await expect(askForCheck(sweep(), scripted(KILLED, counts))).rejects.toMatchObject({
      code: 'TOO_LARGE',
      message: expect.stringMatching(/^memory ran out while reading the input: .*ended by SIGKILL/),
      suggestions: expect.arrayContaining(['write a shorter excerpt of the input']),
    })
    const words = (text: string) =>
      `process.on('message', () => { console.error(${JSON.stringify(text)}); process.exit(134) })`
    const planning = askForPlan(
      sweep(),
      scripted(words('#\n# Fatal process out of memory: SegmentedTable')),
    )
    await expect(planning).rejects.toMatchObject({
      code: 'TOO_LARGE',
      message:
        'memory ran out while making the plan: the worker process exited with code 134: # Fatal process out of memory: SegmentedTable; probably too little memory: on the machine, or because of a limit such as ulimit -v',
      suggestions: [expect.stringContaining('ulimit -v')],
    })
  })

  const broken: [how: string, script: string, timeoutMs: number | null, said: string][] = [
    ['ends', "process.on('message', () => process.exit(7))", null, 'exited with code 7'],
    ['hangs', "process.on('message', () => {})", 50, 'a call of one did not end within --timeout'],
  ]
  it.each(sample(broken, 2, 0))(
    'makes a plan without predicting plug-ins where one of them %s',
    async (...row) => {
      const [, script, timeoutMs, why] = row
      const text = reluMap('mine')
      writeFiles(folder, {'mine.mjs': text})
      const path = join(folder, 'mine.mjs')
      const sha256 = createHash('sha256').update(text).digest('hex')
      const plugins = [{path, sha256, imports: [], methods: ['mine']}]
      const plan = sweep({methods: [method('mine'), method('elu')], plugins})
      const asked = scripted(script)
      const {jobs, warnings, serves} = await askForPlan(plan, asked, {timeoutMs})
      expect(warnings).toEqual([
        expect.stringMatching(/^memory and time of mine are not predicted: /),
      ])
      expect(warnings[0]).toContain(why)
      expect(serves).toBe(false)
      const cells = [...jobs].map(({cell}) => (cell as {method: string}).method)
      expect(new Set(cells)).toEqual(new Set(['mine', 'elu']))
      const [mine, elu] = ['mine', 'elu'].map(
        name => [...jobs].find(({cell}) => (cell as {method: string}).method === name)!,
      )
      expect(mine!.predictedBytes).toBeLessThan(elu!.predictedBytes)
      // the input is looked at by another worker where this one is gone
      await expect(askForCheck(plan, asked)).resolves.toBeUndefined()
    },
  )

  it('is told from one that answers something else', async () => {
    const odd = "process.on('message', ({id}) => process.send({id, outcome: {}}))"
    await expect(askForPlan(sweep(), scripted(odd))).rejects.toThrow('answered with id and outcome')
    await expect(askForCheck(sweep(), scripted(odd))).rejects.toThrow(
      'answered with id and outcome',
    )
  })
})
