import {describe, expect, it} from 'vitest'
import {cellsFrom} from '../../../src/experiments/cells.js'
import {partsOf} from '../../../src/runner/parts.js'
import {jobsFor, timedExperiment} from '../../helpers/runner/jobs.js'

const labels = (parts: ReturnType<typeof partsOf>) =>
  Array.from(parts, ({job, index, count}) => `${job.label}: ${index} of ${count}`)

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
    expect(parts).toEqual(jobs.map(job => ({job, cell: job.cell, index: 0, count: 1})))
    expect([...partsOf([], timedExperiment)]).toEqual([])
  })

  it('makes jobs as they are asked for', () => {
    let made = 0
    const jobs = cellsFrom(1e9, function* () {
      for (;;) {
        made++
        yield* jobsFor('a+b')
      }
    })
    expect(partsOf(jobs, timedExperiment).next().value).toMatchObject({index: 0, count: 2})
    expect(made).toBe(1)
  })
})
