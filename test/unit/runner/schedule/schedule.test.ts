import {availableParallelism, totalmem} from 'node:os'
import {describe, expect, it} from 'vitest'
import bench from '../../../../src/experiments/bench/index.js'
import sweep from '../../../../src/experiments/error-sweep/index.js'
import {
  leastProcesses,
  predictedSeconds,
  SHARING_SECONDS,
  schedule,
} from '../../../../src/runner/schedule/schedule.js'
import {jobFor} from '../../../helpers/runner/jobs.js'

const jobs = (count: number) => Array.from({length: count}, (_, seed) => jobFor('ok', seed))

describe('schedule', () => {
  it.each([
    ['each has one', 3, 2, {processes: 2, threadShare: 1}],
    ['fewer cells share them', 3, 7, {processes: 3, threadShare: 2}],
    ['one cell has them all', 1, 7, {processes: 1, threadShare: 7}],
    ['no cells need none', 0, 4, {processes: 1, threadShare: 4}],
  ])('divides the threads among the cells: %s', (_, cells, threads, expected) => {
    const run = {experiment: sweep, jobs: jobs(cells)}
    expect(schedule(run, threads)).toEqual({fresh: false, open: 0, trials: 0, ...expected})
  })

  it.each([
    ['a process for each method', 3, {threads: 7}, 3],
    ['as many as threads', 5, {threads: 2}, 2],
    ['one of one method', 1, {threads: 2}, 1],
    ['one where some cells may be there', 3, {threads: 7, inPart: true}, 1],
  ])(
    'knows how many processes there are at least before cells are known: %s',
    (_, count, how, processes) => {
      const methods = Array.from({length: count}, () => ({method: 'elu'}))
      const asked = {inPart: false, ...how}
      expect(leastProcesses(sweep, {methods}, asked)).toBe(processes)
      expect(leastProcesses(bench, {methods}, asked)).toBe(1)
      expect(leastProcesses(sweep, {methods, plugins: []}, asked)).toBe(1)
      expect(leastProcesses(sweep, {}, asked)).toBe(1)
    },
  )

  it('gives no process threads that its backend does not have', () => {
    const run = {experiment: sweep, jobs: jobs(1)}
    expect(schedule(run, 7, 'one')).toMatchObject({processes: 1, threadShare: 1})
  })

  it('takes a thread per processor where nothing is said', () => {
    const processors = availableParallelism()
    const run = {experiment: sweep, jobs: jobs(2 * processors)}
    expect(schedule(run)).toEqual({
      ...{processes: processors, fresh: false},
      ...{open: 0, trials: 0, threadShare: 1},
    })
  })

  it('runs what is timed alone, on the threads of its plan, and tries as many cells at once as there are threads', () => {
    const run = {experiment: bench, jobs: jobs(5)}
    expect(schedule(run, 4)).toEqual({
      ...{processes: 1, fresh: true},
      ...{open: 5, trials: 4, threadShare: undefined},
    })
  })

  it('lets so many timed cells take turns as memory has room for, and no more than 32', () => {
    const large = jobs(40).map(job => ({...job, predictedBytes: totalmem() / 4}))
    expect(schedule({experiment: bench, jobs: large}).open).toBeLessThanOrEqual(2)
    expect(schedule({experiment: bench, jobs: large}).open).toBeGreaterThanOrEqual(1)
    expect(schedule({experiment: bench, jobs: jobs(40)}).open).toBe(32)
    // what their process has once leaves room for those that add little
    const alike = large.map(job => ({...job, predictedBytes: 1e6 + 1e8, commonBytes: 1e8}))
    expect(schedule({experiment: bench, jobs: alike}).open).toBe(32)
  })
})

describe('predictedSeconds', () => {
  const native = {backend: 'native'} as const
  const how = (changes: {processes?: number; threadShare?: number; fresh?: boolean} = {}) => ({
    ...{fresh: false, threadShare: 1, processes: 1},
    ...changes,
  })

  it('adds what cells have in common to as many of them as there are processes', () => {
    const own = (id: string) => ({predictedCost: 6e10, shared: [{id, cost: 3e10}]})
    const cells = [own('a'), own('b'), own('a'), own('a'), {predictedCost: 6e10}]
    expect(predictedSeconds(cells, native, how())).toEqual([1.5, 1.5, 1, 1, 1])
    expect(predictedSeconds(cells, native, how({processes: 2}))).toEqual([1.5, 1.5, 1.5, 1, 1])
    // a run that is gone on with begins anew
    expect(predictedSeconds(cells.slice(2), native, how())).toEqual([1.5, 1, 1])
  })

  it('divides operations among the threads of a process, and counts none where they are not known', () => {
    const cells = [6e10, Number.POSITIVE_INFINITY].map(predictedCost => ({predictedCost}))
    expect(predictedSeconds(cells, native, how({threadShare: 4}))).toEqual([1 / 4, 0])
  })

  it('tries a timed cell, and gets it ready in each of its processes', () => {
    const seconds = (processes: number) =>
      predictedSeconds([{predictedCost: 6e10, processes}], native, how({fresh: true}))
    expect(seconds(5)).toEqual([1 + 6 * SHARING_SECONDS])
  })
})
