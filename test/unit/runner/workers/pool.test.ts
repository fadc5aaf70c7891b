import {existsSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {setTimeout as sleep} from 'node:timers/promises'
import {describe, expect, it, vi} from 'vitest'
import {RfaError} from '../../../../src/errors.js'
import experiment from '../../../../src/experiments/variance/index.js'
import type {CellRecord} from '../../../../src/results/record.js'
import type {Part} from '../../../../src/runner/schedule/parts.js'
import {type PoolOptions, runJobs} from '../../../../src/runner/workers/pool.js'
import {WorkerProcess} from '../../../../src/runner/workers/worker-process.js'
import {FULL} from '../../../helpers/effort.js'
import {temporaryFolder} from '../../../helpers/folders.js'
import {
  environment,
  fakeWorker,
  isRunning,
  jobFor,
  jobsFor,
  lines,
  noted,
  pidOf,
} from '../../../helpers/runner/jobs.js'

const options: PoolOptions = {
  experiment,
  schedule: {processes: 1, fresh: false, open: 1, trials: 1, threadShare: 1},
  timeoutMs: null,
  workerPath: fakeWorker,
}

/** Runs jobs and gives the records in the order in which they came. */
async function run(jobs = jobsFor('ok'), changes: Partial<PoolOptions> = {}) {
  const records: CellRecord[] = []
  await runJobs(jobs, {...options, ...changes}, record => void records.push(record))
  return records
}

const temporary = temporaryFolder()

/** Waits until workers that note in a file what they are asked have taken so many cells. */
async function cellBegun(file: string, cells = 1): Promise<void> {
  const taken = () => (existsSync(file) ? lines(file).filter(line => line === 'cell').length : 0)
  while (taken() < cells) await sleep(5)
}

const two = {schedule: {...options.schedule, processes: 2}}

const errorsOf = (records: CellRecord[]) =>
  records.map(record => (record.status === 'failed' ? record.error : record.status))

describe('runJobs', () => {
  it('makes a record of every job, by its key and cell', async () => {
    const jobs = jobsFor('ok', 'skip', 'refuse')
    const records = await run(jobs)
    expect(records).toMatchObject(
      jobs.map(({key, cell}) => ({schema: experiment.schema, key, cell})),
    )
    expect(errorsOf(records)).toEqual([
      'completed',
      'skipped',
      {code: 'BAD_FILE', message: 'q.npy: expected 4 axes, got 5'},
    ])
  })

  it('shares one process among jobs, or takes a fresh one for each', async () => {
    const pids = async (fresh: boolean) => {
      const schedule = {...options.schedule, fresh}
      return (await run(jobsFor('ok', 'ok', 'ok'), {schedule})).map(pidOf)
    }
    expect(new Set(await pids(false)).size).toBe(1)
    expect(new Set(await pids(true)).size).toBe(3)
  })

  it('gives each plug-in a process of its own, whatever the order of cells', async () => {
    const jobs = [undefined, 'aa', undefined, 'bb', 'aa'].map((plugin, seed) => {
      const job = jobFor('ok', seed)
      return plugin === undefined ? job : {...job, cell: {...job.cell, plugin}}
    })
    const [first, own, second, other, again] = (await run(jobs)).map(pidOf)
    expect([second, again]).toEqual([first, own])
    expect(new Set([first, own, other]).size).toBe(3)
  })

  it('is not disturbed by messages that are none of a worker', async () => {
    expect(errorsOf(await run(jobsFor('nonsense', 'badError', 'ok')))).toEqual([
      'completed',
      {code: 'CELL_CRASHED', message: expect.any(String)},
      'completed',
    ])
  })

  it('gives the first job to a worker that is there already, unless it has died', async () => {
    const worker = new WorkerProcess({workerPath: fakeWorker})
    const [first, second] = (await run(jobsFor('ok', 'ok'), {worker})).map(pidOf)
    expect([first, second]).toEqual([worker.pid, worker.pid])
    expect(isRunning(worker.pid!)).toBe(false)
    const [next] = (await run(jobsFor('ok'), {worker})).map(pidOf)
    expect(next).not.toBe(worker.pid)
  })

  it('takes further workers that are there already, and ends them', async () => {
    const others = [1, 2].map(() => new WorkerProcess({workerPath: fakeWorker}))
    const {pid} = others[0]!
    const takeOther = vi.fn(() => others.shift())
    const jobs = jobsFor('ok', 'ok', 'ok')
    const schedule = {...options.schedule, processes: 1}
    expect((await run(jobs, {schedule, takeOther})).map(pidOf)).toEqual([pid, pid, pid])
    expect(isRunning(pid!)).toBe(false)
    expect(takeOther).toHaveBeenCalledOnce()
    await others[0]!.kill()
    const [own] = (await run(jobsFor('ok'), {schedule, takeOther: () => others[0]})).map(pidOf)
    expect(own).not.toBe(others[0]!.pid) // it has died
  })

  it('leaves a worker running that is to be kept', async () => {
    const worker = new WorkerProcess({workerPath: fakeWorker})
    try {
      const pids = (await run(jobsFor('ok', 'ok'), {worker, keepWorker: true})).map(pidOf)
      expect(pids).toEqual([worker.pid, worker.pid])
      expect(worker.alive).toBe(true)
      const [again] = (await run(jobsFor('ok'), {worker, keepWorker: true})).map(pidOf)
      expect(again).toBe(worker.pid)
    } finally {
      await worker.kill()
    }
  })

  it('has ended a fresh process before it starts the next', async () => {
    const before: boolean[] = []
    const records: CellRecord[] = []
    await runJobs(
      jobsFor('ok', 'ok', 'ok'),
      {
        ...options,
        schedule: {...options.schedule, fresh: true},
        onStart: () => before.push(records.some(r => isRunning(pidOf(r)))),
      },
      record => void records.push(record),
    )
    expect(before).toEqual([false, false, false])
  })

  it('lets timed cells take turns, each by itself', async () => {
    const said = join(temporary, 'turns')
    environment('RFA_TEST_FILE', said)
    const schedule = {...options.schedule, fresh: true, open: 2}
    const jobs = [jobFor('turns', 0), jobFor('turns', 1), jobFor('turns', 2)]
    const heard: [string, boolean][] = []
    const onTurn = ({job}: Part, own: boolean) => void heard.push([job.label, own])
    const records = await run(jobs, {schedule, onTurn})
    expect(errorsOf(records)).toEqual(['completed', 'completed', 'completed'])
    // the third takes the place of the first that has ended
    const steps = lines(said).filter(line => line.startsWith('turn'))
    expect(steps).toEqual(['turn 0', 'turn 1', 'turn 0', 'turn 1', 'turn 2', 'turn 2'])
    expect(heard.slice(0, 2)).toEqual([
      ['turns 0', false],
      ['turns 1', false],
    ])
  })

  it('continues the others when a cell dies while it waits for its turn, or in it', async () => {
    const schedule = {...options.schedule, fresh: true, open: 3}
    const jobs = [jobFor('turns', 0), jobFor('turnAndDie', 1), jobFor('kill', 2), jobFor('ok', 3)]
    const records = await run(jobs, {schedule})
    const by = new Map(records.map(record => [record.key, record.status]))
    expect(jobs.map(({key}) => by.get(key))).toEqual(['completed', 'failed', 'failed', 'completed'])
  })

  it.runIf(FULL)('counts no time of others against the limit of a cell', async () => {
    const schedule = {...options.schedule, fresh: true, open: 3}
    const jobs = [jobFor('turns', 0), jobFor('sleep', 1, 2000), jobFor('sleep', 2, 2000)]
    const records = await run(jobs, {schedule, timeoutMs: 3900})
    expect(errorsOf(records)).toEqual(['completed', 'completed', 'completed'])
  })

  it('is stopped in the midst of turns', async () => {
    const schedule = {...options.schedule, fresh: true, open: 3}
    const controller = new AbortController()
    const stopping = run([jobFor('turns', 0), jobFor('hang', 1), jobFor('turns', 2)], {
      schedule,
      signal: controller.signal,
      onStart: ({job}) => {
        if (job.label === 'hang 1') controller.abort()
      },
    })
    await expect(stopping).rejects.toMatchObject({code: 'INTERRUPTED'})
  })

  it('leaves no process behind', async () => {
    const records = await run(jobsFor('ok', 'ok', 'ok'), two)
    expect(records.map(pidOf).filter(isRunning)).toEqual([])
  })

  it('starts jobs in order and gives records as they end', async () => {
    const gate = join(temporary, 'both others have ended')
    environment('RFA_TEST_GATE', gate)
    const jobs = [jobFor('wait', 0), jobFor('ok', 1), jobFor('ok', 2)]
    const started: string[] = []
    const records: CellRecord[] = []
    const onStart = ({job}: Part) => void started.push(job.key)
    await runJobs(jobs, {...options, ...two, onStart}, record => {
      if (records.push(record) === 2) writeFileSync(gate, '')
    })
    expect(started).toEqual(jobs.map(({key}) => key))
    expect(records.map(({key}) => key)).toEqual([1, 2, 0].map(index => jobs[index]!.key))
  })

  it.each([
    ['exits', 'exit', /the worker process exited with code 7$/],
    ['is killed', 'kill', /the worker process was ended by SIGKILL \(.*\)$/],
    ['throws', 'uncaught', /worker process exited with code 1: URIError: URI malformed$/],
    [
      'runs out of heap',
      'heap',
      /the worker process was ended by SIG\w+: FATAL ERROR: .*heap out of memory; probably too little memory: on the machine, or because of a limit such as ulimit -v$/,
    ],
    ['closes its channel', 'leave', /the worker process was ended by SIGKILL/],
  ])('records a failure when the process %s, and goes on', async (_, method, message) => {
    environment('NODE_OPTIONS', '--max-old-space-size=32')
    const records = await run(jobsFor(method, 'ok'))
    expect(errorsOf(records)).toEqual([
      {code: 'CELL_CRASHED', message: expect.stringMatching(message)},
      'completed',
    ])
  })

  it.runIf(FULL)(
    'stops a job that takes too long, even in an endless loop, and goes on',
    async () => {
      const records = await run(jobsFor('hang', 'ok'), {timeoutMs: 4000})
      expect(errorsOf(records)).toEqual([
        {
          code: 'CELL_TIMEOUT',
          message: 'the cell was stopped: it took longer than 4 s',
        },
        'completed',
      ])
    },
  )

  it('takes a limit beyond what timers can hold as no limit', async () => {
    expect(errorsOf(await run([jobFor('sleep', 0, 50)], {timeoutMs: 1e12}))).toEqual(['completed'])
  })

  it('records a failure for a result that files cannot hold', async () => {
    expect(errorsOf(await run(jobsFor('nan', 'ok')))).toEqual([
      {
        code: 'CELL_CRASHED',
        message: expect.stringMatching(
          /result of the cell: expected a record of rfa\.variance\/2, got one in which result\.feature_dim is null \(expected a number\)/,
        ),
      },
      'completed',
    ])
  })

  it('gives workers the environment and the threads, and keeps what they print to itself', async () => {
    environment('RFA_TEST', 'given')
    const [record] = await run(jobsFor('environment'))
    expect(record).toMatchObject({reason: 'given'})
    const schedule = {...options.schedule, threadShare: 5, processes: 3}
    expect(await run(jobsFor('threads'), {schedule})).toMatchObject([
      {reason: '5 threads, 3 processes'},
    ])
    expect(errorsOf(await run(jobsFor('print')))).toEqual(['completed'])
  })

  it('does nothing for no jobs, even without a worker', async () => {
    expect(await run([], {workerPath: '/missing'})).toEqual([])
  })

  it('says so when the worker is not built', async () => {
    const workerPath = join(import.meta.dirname, 'missing.js')
    await expect(run(jobsFor('ok'), {workerPath})).rejects.toMatchObject({
      code: 'FILE_MISSING',
      message: `${workerPath}: expected the built worker, got nothing`,
      suggestions: ['build the project: npm run build'],
    })
  })
})

describe('runJobs, profiled', () => {
  it('has every worker begin a profile before its first job, and write it when it ends', async () => {
    const said = join(temporary, 'said')
    environment('RFA_TEST_FILE', said)
    let files = 0
    const profileFile = () => `file ${++files}`
    const schedule = {...options.schedule, fresh: true}
    await run(jobsFor('ok', 'ok'), {schedule, profileFile})
    const each = (file: string) => ['"start"', 'begun', 'cell', JSON.stringify({path: file})]
    expect(lines(said)).toEqual([...each('file 1'), ...each('file 2')])
  })

  it('goes on without the profile of a worker that died, or that was not written, and reports both', async () => {
    const warnings: string[] = []
    const more = {profileFile: () => 'refused', onWarning: (text: string) => warnings.push(text)}
    expect(errorsOf(await run(jobsFor('kill', 'ok'), more))).toMatchObject([
      {code: 'CELL_CRASHED'},
      'completed',
    ])
    expect(warnings).toEqual([
      expect.stringMatching(/^a profile was not written: .* ended by SIGKILL/),
      'a profile was not written: refused: no place',
    ])
  })

  it('waits for the profile of a worker whose cell ends while it is stopped', async () => {
    const said = join(temporary, 'slow')
    const gate = join(temporary, 'stopped')
    environment('RFA_TEST_FILE', said)
    environment('RFA_TEST_GATE', gate)
    const warnings: string[] = []
    const controller = new AbortController()
    const stopInTheCell = async () => {
      await cellBegun(said)
      controller.abort()
      writeFileSync(gate, '')
    }
    const more = {
      signal: controller.signal,
      profileFile: () => 'slow',
      profilePatienceMs: {ended: 600_000, stopped: 600_000},
      onWarning: (text: string) => warnings.push(text),
      onStart: () => void stopInTheCell(),
    }
    await run([jobFor('wait', 0), jobFor('ok', 1)], more).catch(() => {})
    expect(warnings).toEqual([])
    expect(lines(said)).toContain('written')
  })

  it.runIf(FULL)('waits for no profile of a worker that is busy when it is stopped', async () => {
    const said = join(temporary, 'busy')
    environment('RFA_TEST_FILE', said)
    const warnings: string[] = []
    const controller = new AbortController()
    const {signal} = controller
    const more = {
      signal,
      profileFile: () => 'file',
      onWarning: (text: string) => warnings.push(text),
      onStart: () => void cellBegun(said).then(() => controller.abort()),
    }
    await expect(run(jobsFor('hang'), more)).rejects.toMatchObject({code: 'INTERRUPTED'})
    expect(warnings).toEqual(['a profile was not written: its worker was computing a cell'])
  })
})

describe('a cell on its way', () => {
  it('is heard, under its job', async () => {
    const heard: [string, number][] = []
    const onHeard = ({job}: Part, {leftMs}: {leftMs: number}) => void heard.push([job.key, leftMs])
    const jobs = [jobFor('sign', 0, 70), jobFor('ok', 1), jobFor('sign', 2, 30)]
    await runJobs(jobs, {...options, onHeard}, () => {})
    expect(heard.sort(([, a], [, b]) => b - a)).toEqual([
      [jobs[0]!.key, 70],
      [jobs[2]!.key, 30],
    ])
  })
})

describe('runJobs, interrupted', () => {
  it('kills the workers, records nothing more and says how many cells are left', async () => {
    const said = join(temporary, 'interrupted')
    environment('RFA_TEST_FILE', said)
    const controller = new AbortController()
    const records: CellRecord[] = []
    const jobs = [jobFor('ok', 0), jobFor('hang', 1), jobFor('ok', 2)]
    const onStart = ({job: {key}}: Part) => {
      if (key === jobs[1]!.key) void cellBegun(said, 2).then(() => controller.abort())
    }
    const {signal} = controller
    const running = runJobs(
      jobs,
      {...options, signal, onStart},
      record => void records.push(record),
    )
    await expect(running).rejects.toMatchObject({
      code: 'INTERRUPTED',
      message: 'interrupted: 2 of 3 cells not run',
    })
    expect(records.map(({key}) => key)).toEqual([jobs[0]!.key])
    expect(isRunning(pidOf(records[0]!))).toBe(false)
  })

  it('waits for records on their way to the journal', async () => {
    const controller = new AbortController()
    let saved = false
    const running = runJobs(
      jobsFor('ok', 'ok'),
      {...options, signal: controller.signal},
      async () => {
        controller.abort()
        await sleep(300)
        saved = true
      },
    )
    await expect(running).rejects.toMatchObject({code: 'INTERRUPTED'})
    expect(saved).toBe(true)
  })

  it('does not start when the signal came before', async () => {
    const started: string[] = []
    const signal = AbortSignal.abort()
    const running = run(jobsFor('ok'), {signal, onStart: ({job}) => started.push(job.key)})
    await expect(running).rejects.toMatchObject({code: 'INTERRUPTED'})
    expect(started).toEqual([])
  })

  it('keeps what cells without turns send that can send a part', async () => {
    const said = join(temporary, 'parts')
    environment('RFA_TEST_FILE', said)
    environment('RFA_TEST_GATE', join(temporary, 'never'))
    const controller = new AbortController()
    const records: CellRecord[] = []
    const stopping = runJobs(
      [jobFor('laps', 0), jobFor('ok', 1)],
      {
        ...options,
        experiment: {...experiment, keepsParts: true},
        signal: controller.signal,
      },
      record => void records.push(record),
    )
    await noted(said, 'over 0')
    controller.abort()
    await expect(stopping).rejects.toMatchObject({
      code: 'INTERRUPTED',
      message: 'interrupted: 1 of 2 cells not run, 1 of 2 cells measured in part',
    })
    expect(records).toMatchObject([{status: 'completed', interrupted: true}])
  })

  it('is not an interrupt when the last job had ended', async () => {
    const controller = new AbortController()
    await runJobs(jobsFor('ok'), {...options, signal: controller.signal}, () => controller.abort())
  })

  it('stops everything when a record cannot be saved', async () => {
    const jobs = [jobFor('ok', 0), jobFor('hang', 1), jobFor('ok', 2)]
    const full = new RfaError('NOT_WRITABLE', 'records.jsonl: expected a place, got ENOSPC')
    const running = runJobs(jobs, {...options, ...two}, () => Promise.reject(full))
    await expect(running).rejects.toBe(full)
  })
})
