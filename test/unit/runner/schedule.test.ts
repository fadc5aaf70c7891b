import {availableParallelism} from 'node:os'
import {describe, expect, it} from 'vitest'
import bench from '../../../src/experiments/bench/schema.js'
import sweep from '../../../src/experiments/error-sweep/schema.js'
import {schedule} from '../../../src/runner/schedule.js'
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
    expect(schedule(run, threads)).toEqual({fresh: false, ...expected})
  })

  it('gives no process threads that its backend does not have', () => {
    const run = {experiment: sweep, jobs: jobs(1)}
    expect(schedule(run, 7, 'one')).toMatchObject({processes: 1, threadShare: 1})
  })

  it('takes a thread per processor where nothing is said', () => {
    const processors = availableParallelism()
    const run = {experiment: sweep, jobs: jobs(2 * processors)}
    expect(schedule(run)).toEqual({processes: processors, fresh: false, threadShare: 1})
  })

  it('runs what is timed alone, in a process of its own, on the threads of its plan', () => {
    const run = {experiment: bench, jobs: jobs(5)}
    expect(schedule(run, 4)).toEqual({processes: 1, fresh: true, threadShare: undefined})
  })
})
