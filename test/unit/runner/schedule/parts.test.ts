import {describe, expect, it} from 'vitest'
import type {Job} from '../../../../src/experiments/planned-run.js'
import type {VarianceCell} from '../../../../src/experiments/variance/schema.js'
import type {CellRecord} from '../../../../src/results/record.js'
import {Deal, type Part, partsOf, trialsOf} from '../../../../src/runner/schedule/parts.js'
import type {Schedule} from '../../../../src/runner/schedule/schedule.js'
import {type PoolOptions, runJobs} from '../../../../src/runner/workers/pool.js'
import {
  fakeWorker,
  foundIn,
  gate,
  isRunning,
  jobFor,
  jobsFor,
  lines,
  noted,
  notes,
  pidsOf,
  timedExperiment,
} from '../../../helpers/runner/jobs.js'

const labels = (parts: ReturnType<typeof partsOf>) =>
  Array.from(parts, ({job, index, count}) => `${job.label}: ${index} of ${count}`)

describe('a deal', () => {
  const dealt = (groups: (string | undefined)[], lanes: string[]) => {
    const jobs = groups.map((group, at) => ({...jobFor('ok', at), group}))
    const deal = new Deal(partsOf(jobs, timedExperiment))
    const names = new Map(lanes.map(name => [name, {}]))
    return lanes.map(name => deal.next(names.get(name)!)?.job.label)
  }

  it('keeps a lane in its group, begins those that no lane is in, then helps with the first that is left', () => {
    const groups = ['a', 'a', 'a', 'b', 'b', 'b', 'b']
    expect(dealt(groups, ['x', 'y', 'x', 'x', 'y', 'x', 'y', 'x'])).toEqual([
      ...['ok 0', 'ok 3', 'ok 1', 'ok 2', 'ok 4', 'ok 5', 'ok 6', undefined],
    ])
  })

  it('is in order where there are no groups, or one', () => {
    const inOrder = ['ok 0', 'ok 1', 'ok 2', undefined]
    expect(dealt([undefined, undefined, undefined], ['x', 'y', 'x', 'y'])).toEqual(inOrder)
    expect(dealt(['a', 'a', 'a'], ['x', 'y', 'x', 'y'])).toEqual(inOrder)
  })
})

describe('partsOf', () => {
  it('gives the first process of each job, then the second ones, as far as jobs have so many', () => {
    const jobs = jobsFor('a+b', 'c', 'd+e+f')
    expect(labels(partsOf(jobs, timedExperiment))).toEqual([
      ...['a+b 0: 0 of 2', 'c 1: 0 of 1', 'd+e+f 2: 0 of 3'],
      ...['a+b 0: 1 of 2', 'd+e+f 2: 1 of 3'],
      'd+e+f 2: 2 of 3',
    ])
    const methods = Array.from(partsOf(jobs, timedExperiment), ({cell}) => cell)
    expect(methods).toMatchObject(['a', 'c', 'd', 'b', 'e', 'f'].map(method => ({method})))
  })

  it('gives each job once, its cell as it is, where an experiment divides none', () => {
    const jobs = jobsFor('a+b', 'c')
    const parts = [...partsOf(jobs, {})]
    const whole = {isTrial: false, index: 0, count: 1, share: 1}
    expect(parts).toEqual(jobs.map(job => ({job, cell: job.cell, ...whole})))
    expect([...partsOf([], timedExperiment)]).toEqual([])
  })
})

describe('trialsOf', () => {
  it('gives those with the same key together, the smallest first', () => {
    const jobs = jobsFor('a+b', 'c', 'd+e+f').map((job, at) => ({...job, predictedBytes: 3 - at}))
    const trial = (cell: VarianceCell) => ({cell: {...cell, norm: 7}, key: `${cell.seed % 2}`})
    const tried = {processes: {...timedExperiment.processes!, trial}}
    const found = trialsOf(jobs, tried)
    expect(found.map(group => group.map(({job}) => job.label))).toEqual([
      ['d+e+f 2', 'a+b 0'],
      ['c 1'],
    ])
    const [[first]] = found as [[Part]]
    expect(first).toMatchObject({isTrial: true, count: 3, share: 1 / 4, cell: {norm: 7}})
    expect([...partsOf(jobs, tried)][0]).toMatchObject({isTrial: false, share: 1 / 3})
  })

  it('gives none of what is not tried', () => {
    expect(trialsOf(jobsFor('a'), timedExperiment)).toEqual([])
  })
})

/** So many cells take turns. */
const together = (open: number): Schedule => ({
  ...{processes: 1, fresh: true, threadShare: undefined},
  ...{open, trials: 2},
})

const options: PoolOptions = {
  experiment: timedExperiment,
  schedule: together(1),
  timeoutMs: null,
  workerPath: fakeWorker,
}

/** Runs jobs. @returns records as they came, and the processes that began */
async function run(jobs: Job[], changes: Partial<PoolOptions> = {}) {
  const records: CellRecord[] = []
  const began: string[] = []
  const onStart = (part: Part) => {
    began.push(nameOf(part))
    changes.onStart?.(part)
  }
  const all = {...options, ...changes, onStart}
  const error = await runJobs(jobs, all, record => void records.push(record)).catch(
    caught => caught,
  )
  return {records, began, error}
}

const nameOf = ({job, index}: Part) => `${job.label}: ${index}`

describe('runJobs, a cell in several processes', () => {
  it('runs first processes first, each a fresh one that is told which it is', async () => {
    const jobs = jobsFor('process+process', 'process', 'process+process+process')
    const {records, began} = await run(jobs)
    const [two, one, three] = jobs.map(({label}) => label)
    expect(began).toEqual([
      ...[`${two}: 0`, `${one}: 0`, `${three}: 0`],
      ...[`${two}: 1`, `${three}: 1`],
      `${three}: 2`,
    ])
    // records come as the last of their processes end
    const inOrder = [jobs[1]!, jobs[0]!, jobs[2]!]
    expect(records).toMatchObject(inOrder.map(({key, cell}) => ({key, cell, status: 'completed'})))
    expect(records.map(foundIn)).toEqual([0, 1, 12])
    const pids = records.flatMap(pidsOf)
    expect(new Set(pids).size).toBe(6)
    expect(pids.filter(isRunning)).toEqual([])
  })

  it('joins what they found in their order, whichever ends first', async () => {
    const {open} = await gate()
    const ended: string[] = []
    const {records} = await run(jobsFor('late+process+process', 'ok'), {
      schedule: together(2),
      onEnd: part => {
        if (ended.push(nameOf(part)) === 3) open()
      },
    })
    expect(ended.at(-1)).toBe('late+process+process 0: 0')
    expect(records.map(foundIn)).toEqual([1, 112])
  })

  it.each([
    ['fails', 'refuse', {status: 'failed', error: {code: 'BAD_FILE'}}],
    ['dies', 'kill', {status: 'failed', error: {code: 'CELL_CRASHED'}}],
    ['finds nothing to do', 'skip', {status: 'skipped', reason: 'not for this shape'}],
  ])(
    'ends a cell at once when one of them %s, and leaves its others out',
    async (_, method, end) => {
      const jobs = jobsFor(`${method}+ok+ok`, `ok+${method}+ok`, 'ok+ok+ok')
      const {records, began} = await run(jobs)
      const [first, second, whole] = jobs
      expect(records).toMatchObject([
        {...end, key: first!.key, cell: first!.cell},
        {...end, key: second!.key, cell: second!.cell},
        {status: 'completed', key: whole!.key},
      ])
      expect(began).toEqual([
        ...jobs.map(({label}) => `${label}: 0`),
        ...[`${second!.label}: 1`, `${whole!.label}: 1`],
        `${whole!.label}: 2`,
      ])
    },
  )

  it('keeps nobody waiting where processes are left out by several at once', async () => {
    const jobs = jobsFor(...Array.from({length: 4}, () => 'refuse+ok'), 'ok+ok')
    const {records} = await run(jobs, {schedule: together(5)})
    const by = new Map(records.map(({key, status}) => [key, status]))
    expect(jobs.map(({key}) => by.get(key))).toEqual([...Array(4).fill('failed'), 'completed'])
  })

  it.each(['late', 'lateAndSkip'])(
    'makes one record of a cell, whatever comes of a process (%s) that still runs',
    async method => {
      const {open} = await gate()
      const {records} = await run(jobsFor(`${method}+refuse`, 'ok'), {
        schedule: together(2),
        onEnd: ({index}) => {
          if (index === 1) setTimeout(open, 50)
        },
      })
      expect(records).toHaveLength(2)
      expect(records.map(({status}) => status).sort()).toEqual(['completed', 'failed'])
    },
  )
})

describe('runJobs, cells that share processes', () => {
  /** Those do whose seeds have the same remainder. */
  const sharing = (kinds: number): Partial<PoolOptions> => {
    const sharingKey = ({seed}: VarianceCell) => `remainder ${seed % kinds}`
    const processes = {...timedExperiment.processes!, sharingKey}
    const experiment: typeof timedExperiment = {...timedExperiment, processes}
    return {experiment}
  }

  it('have one for a round, which is ended before the next, and take their turns in it', async () => {
    const file = await notes()
    const jobs = [jobFor('turns+ok', 0), jobFor('turns+ok', 1), jobFor('ok', 2)]
    const records: CellRecord[] = []
    const stillThere: boolean[] = []
    const onStart = ({index}: Part) => {
      if (index === 1) stillThere.push(...records.flatMap(pidsOf).map(isRunning))
    }
    const all = {...options, ...sharing(1), schedule: together(2), onStart}
    await runJobs(jobs, all, record => void records.push(record))
    // the one with a single process has its record when the second round begins
    expect(stillThere[0]).toBe(false)
    const [single, first, second] = records.map(pidsOf)
    expect([first![0], second![0]]).toEqual([single![0], single![0]])
    expect(first![1]).toBe(second![1])
    expect(first![1]).not.toBe(first![0])
    expect(records.flatMap(pidsOf).filter(isRunning)).toEqual([])
    expect(lines(file).filter(line => line.startsWith('turn'))).toHaveLength(4)
  })

  it('keep theirs though others have another one in between', async () => {
    const {records} = await run(jobsFor('ok', 'ok', 'ok', 'ok'), sharing(2))
    const [even, odd, ...others] = records.flatMap(pidsOf)
    expect(odd).not.toBe(even)
    expect(others).toEqual([even, odd])
  })

  it('get another one when theirs has died', async () => {
    const {records} = await run(jobsFor('ok', 'kill', 'ok', 'ok'), sharing(1))
    expect(records.map(({status}) => status)).toEqual([
      ...['completed', 'failed'],
      ...['completed', 'completed'],
    ])
    const [before, after, later] = records
      .filter(({status}) => status === 'completed')
      .flatMap(pidsOf)
    expect(after).not.toBe(before)
    expect(later).toBe(after)
  })

  it('begin again in another one where one of them has ended theirs in its turn', async () => {
    const jobs = [jobFor('turns', 0), jobFor('turnThenDie', 1), jobFor('turns', 2)]
    const {records, began} = await run(jobs, {...sharing(1), schedule: together(3)})
    const by = new Map(records.map(record => [record.key, record]))
    const [first, dead, last] = jobs.map(({key}) => by.get(key)) as [
      CellRecord,
      CellRecord,
      CellRecord,
    ]
    expect([first, dead, last].map(({status}) => status)).toEqual([
      ...['completed', 'failed', 'completed'],
    ])
    expect(began.filter(name => name.startsWith('turnThenDie'))).toHaveLength(1)
    expect(pidsOf(first)).toEqual(pidsOf(last))
  })

  it('begin again, too, where it took too long', async () => {
    const jobs = [jobFor('stuck', 0), jobFor('turns', 1)]
    const {records} = await run(jobs, {...sharing(1), schedule: together(2), timeoutMs: 1000})
    const by = new Map(records.map(record => [record.key, record]))
    expect(jobs.map(({key}) => by.get(key))).toMatchObject([
      {status: 'failed', error: {code: 'CELL_TIMEOUT'}},
      {status: 'completed'},
    ])
  })
})

describe('runJobs, trials', () => {
  /** Each cell is tried as the first of its methods, alone or with those of the same seed modulo 2. */
  const tried = (key = ({seed}: VarianceCell) => `${seed}`): Partial<PoolOptions> => {
    const trial = ({method, ...cell}: VarianceCell) => ({
      cell: {...cell, method: method.split('+')[0]!},
      key: key({...cell, method}),
    })
    const split = ({method, ...cell}: VarianceCell) =>
      method
        .split('+')
        .slice(1)
        .map(own => ({...cell, method: own}))
    const merge: NonNullable<typeof timedExperiment.processes>['merge'] = async (all, one) => {
      const {merge: join} = timedExperiment.processes!
      const whole = await join(all, undefined)
      return {...whole, kernel: `${whole.kernel}, ${one?.kernel}`}
    }
    return {experiment: {...timedExperiment, processes: {split, trial, merge}}}
  }

  it('come before all others, and are merged with them', async () => {
    const jobs = jobsFor('ok+ok+ok', 'ok+ok')
    const {records, began} = await run(jobs, tried())
    expect(new Set(began.slice(0, 2))).toEqual(new Set(jobs.map(({label}) => `${label}: 0`)))
    expect(began).toHaveLength(5)
    expect(records.map(record => pidsOf(record).length).sort()).toEqual([2, 3])
    expect(new Set(records.flatMap(pidsOf)).size).toBe(5)
  })

  it('end a cell that fails, whatever process it has, before any of it is timed', async () => {
    const jobs = jobsFor('kill+ok', 'refuse+ok', 'skip+ok', 'ok+ok')
    const {records, began} = await run(
      jobs,
      tried(() => 'all'),
    )
    const by = new Map(records.map(({key, status}) => [key, status]))
    expect(jobs.map(({key}) => by.get(key))).toEqual([
      ...['failed', 'failed'],
      ...['skipped', 'completed'],
    ])
    expect(began).toHaveLength(5)
  })

  it('have one process where they have the same key', async () => {
    const both = ({seed}: VarianceCell) => `${seed % 2}`
    const {records} = await run(jobsFor('ok+ok', 'ok+ok', 'ok+ok', 'ok+ok'), tried(both))
    const trials = records.map(record => pidsOf(record)[1])
    expect(new Set(trials).size).toBe(2)
  })

  it('leave no record where a run is interrupted before anything is timed', async () => {
    const controller = new AbortController()
    const {records, error} = await run(jobsFor('ok+ok', 'hang+ok'), {
      ...tried(() => 'all'),
      signal: controller.signal,
      onStart: ({job}) => {
        if (job.label.startsWith('hang')) controller.abort()
      },
    })
    expect(error).toMatchObject({code: 'INTERRUPTED', message: 'interrupted: 2 of 2 cells not run'})
    expect(records).toEqual([])
  })
})

describe('runJobs, timed cells', () => {
  it('get ready, and have their turns, one at a time', async () => {
    const file = await notes()
    const jobs = Array.from({length: 6}, (_, seed) => jobFor('together+turns', seed, 1))
    const {records} = await run(jobs, {schedule: together(3)})
    expect(records).toHaveLength(6)
    const said = lines(file).filter(line => line !== 'cell')
    const preparing = new Set<string>()
    let turn: string | undefined
    for (const [what, seed] of said.map(line => line.split(' ') as [string, string])) {
      if (what === 'begin') preparing.add(seed)
      if (what === 'ready') preparing.delete(seed)
      if (what === 'turn') expect([turn, ...preparing]).toEqual([undefined])
      if (what === 'begin') expect(turn).toBeUndefined()
      if (what === 'turn') turn = seed
      if (what === 'over') turn = undefined
      expect(preparing.size).toBeLessThanOrEqual(1)
    }
    expect(said.filter(line => line.startsWith('turn'))).toHaveLength(6 * 2 * 2)
  })
})

describe('runJobs, timed cells that are interrupted', () => {
  const interrupted = (what: string) => ({
    code: 'INTERRUPTED',
    message: `interrupted: ${what}`,
  })

  /** Runs jobs until something has come. */
  async function runUntil(
    jobs: Job[],
    come: (stop: () => void) => unknown,
    changes: Partial<PoolOptions> = {},
  ) {
    const controller = new AbortController()
    void come(() => controller.abort())
    return run(jobs, {signal: controller.signal, schedule: together(2), ...changes})
  }

  it('tell what was measured of them, waiting or not, and begin no other', async () => {
    const file = await notes()
    await gate()
    const jobs = jobsFor('laps', 'laps', 'ok')
    const {records, began, error} = await runUntil(jobs, async stop => {
      await Promise.all([noted(file, 'over 0', 2), noted(file, 'over 1', 2)])
      stop()
    })
    expect(error).toMatchObject(interrupted('1 of 3 cells not run, 2 of 3 cells measured in part'))
    expect(records).toMatchObject(
      jobs.slice(0, 2).map(({key, cell}) => ({key, cell, status: 'completed', interrupted: true})),
    )
    for (const record of records) expect(foundIn(record)).toBeGreaterThanOrEqual(2)
    expect(began).not.toContain(`${jobs[2]!.label}: 0`)
    expect(records.flatMap(pidsOf).filter(isRunning)).toEqual([])
  })

  it('leave no record where nothing was measured', async () => {
    const file = await notes()
    await gate()
    const {error, records} = await runUntil(jobsFor('laps', 'wait'), async stop => {
      await noted(file, 'cell', 2)
      stop()
    })
    expect(error).toMatchObject(interrupted('2 of 2 cells not run'))
    expect(records).toEqual([])
  })

  it('are killed when they take too long, and tell of earlier processes', async () => {
    const file = await notes()
    await gate()
    const jobs = jobsFor('stuck', 'process+stuck', 'laps')
    const {records, error} = await runUntil(
      jobs,
      async stop => {
        await noted(file, 'over 2')
        await noted(file, 'stuck 0')
        stop()
      },
      {schedule: together(3)},
    )
    expect(error).toMatchObject(interrupted('1 of 3 cells not run, 2 of 3 cells measured in part'))
    const [early, waiting] = records.map(foundIn)
    expect(early).toBe(0)
    expect(waiting).toBeGreaterThan(0)
  })

  it('have records as ever that have ended before', async () => {
    const file = await notes()
    await gate()
    const jobs = jobsFor('ok', 'skip', 'refuse', 'process+laps')
    const {records, error} = await runUntil(
      jobs,
      async stop => {
        await noted(file, 'over 3')
        stop()
      },
      {schedule: together(1)},
    )
    expect(error).toMatchObject(interrupted('1 of 4 cells measured in part'))
    expect(records.map(({status}) => status)).toEqual([
      ...['completed', 'skipped'],
      ...['failed', 'completed'],
    ])
    expect(records.map(record => 'interrupted' in record)).toEqual([false, false, false, true])
    expect(foundIn(records[3]!)).toBeGreaterThan(0)
  })
})
