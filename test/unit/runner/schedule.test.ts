import {availableParallelism, totalmem} from 'node:os'
import {describe, expect, it} from 'vitest'
import bench from '../../../src/experiments/bench/index.js'
import sweep from '../../../src/experiments/error-sweep/index.js'
import {cellSeconds, PROCESS_SECONDS, schedule} from '../../../src/runner/schedule.js'
import {jobFor} from '../../helpers/runner/jobs.js'

const jobs = (count: number) => Array.from({length: count}, (_, seed) => jobFor('ok', seed))

describe('schedule', () => {
  it.each([
    ['each has one', 3, 2, {processes: 2, threadShare: 1}],
    ['fewer cells share them', 3, 7, {processes: 3, threadShare: 2}],
    ['one cell has them all', 1, 7, {processes: 1, threadShare: 7}],
    ['no cells need none', 0, 4, {processes: 1, threadShare: 4}],
  ])('divides the threads among the cells: %s', (_, cells, threads, expected) => {
    const run = {experiment: sweep, jobs: jobs(cells)}
    expect(schedule(run, threads)).toEqual({fresh: false, open: 0, preparing: 0, ...expected})
  })

  it('gives no process threads that its backend does not have', () => {
    const run = {experiment: sweep, jobs: jobs(1)}
    expect(schedule(run, 7, 'one')).toMatchObject({processes: 1, threadShare: 1})
  })

  it('takes a thread per processor where nothing is said', () => {
    const processors = availableParallelism()
    const run = {experiment: sweep, jobs: jobs(2 * processors)}
    expect(schedule(run)).toEqual({
      ...{processes: processors, fresh: false},
      ...{open: 0, preparing: 0, threadShare: 1},
    })
  })

  it('runs what is timed alone, on the threads of its plan, and prepares as many cells at once as there are threads', () => {
    const run = {experiment: bench, jobs: jobs(5)}
    expect(schedule(run, 4)).toEqual({
      ...{processes: 1, fresh: true},
      ...{open: 5, preparing: 4, threadShare: undefined},
    })
  })

  it('lets so many timed cells take turns as memory has room for, and no more than 32', () => {
    const large = jobs(40).map(job => ({...job, predictedBytes: totalmem() / 4}))
    expect(schedule({experiment: bench, jobs: large}).open).toBeLessThanOrEqual(2)
    expect(schedule({experiment: bench, jobs: large}).open).toBeGreaterThanOrEqual(1)
    expect(schedule({experiment: bench, jobs: jobs(40)}).open).toBe(32)
  })
})

describe('cellSeconds', () => {
  const native = {backend: 'native'} as const

  it('adds what as many cells compute at once as there are processes', () => {
    const seconds = (rank: number, processes: number) => {
      const cell = {predictedCost: 6e10, shared: [{cost: 3e10, rank}]}
      return cellSeconds(cell, native, {fresh: false, threadShare: 1, processes})
    }
    // the first has it in its cost
    expect([0, 1, 2, 3].map(rank => seconds(rank, 3))).toEqual([1, 1.5, 1.5, 1])
    expect([0, 1].map(rank => seconds(rank, 1))).toEqual([1, 1])
  })

  it('divides among the threads what they share, and no more', () => {
    const shared = cellSeconds({predictedCost: 6e10}, native, {
      fresh: false,
      threadShare: 4,
      processes: 1,
    })
    expect(shared).toMatchReference(1 / 4, 12)
    const cell = {predictedCost: 6e10, serialCost: 4.5e10}
    expect(
      cellSeconds(cell, native, {fresh: false, threadShare: 4, processes: 1}),
    ).toMatchReference(0.75 + 0.25 / 4, 12)
    expect(
      cellSeconds(cell, native, {fresh: true, threadShare: undefined, processes: 1}),
    ).toMatchReference(1 + PROCESS_SECONDS, 12)
  })

  it('starts as many fresh processes as a cell takes', () => {
    const how = {fresh: true, threadShare: undefined, processes: 1}
    const seconds = (processes: number) =>
      cellSeconds({predictedCost: 6e10, processes}, native, how)
    expect(seconds(5)).toMatchReference(1 + 5 * PROCESS_SECONDS, 12)
  })
})
