import {describe, expect, it} from 'vitest'
import {progressMeter} from '../../../src/runner/progress.js'
import {jobFor} from '../../helpers/runner/jobs.js'

/** Jobs of the given costs, and a clock that the test sets. */
function session(costs: number[], reused = 0) {
  const jobs = costs.map((predictedCost, seed) => ({...jobFor('job', seed), predictedCost}))
  const clock = {ms: 1000}
  return {jobs, clock, meter: progressMeter(jobs, reused, () => clock.ms)}
}

describe('progressMeter', () => {
  it('does not guess before the first cell has ended', () => {
    const {jobs, meter} = session([1, 3])
    expect(meter.start(jobs[0]!)).toEqual({
      done: 0,
      total: 2,
      label: 'job 0',
      etaMs: null,
      failed: 0,
    })
  })

  it('weights the time left by predicted cost', () => {
    const {jobs, clock, meter} = session([2, 6, 8])
    meter.start(jobs[0]!)
    clock.ms += 500
    expect(meter.end(jobs[0]!, false)).toMatchObject({done: 1, etaMs: 3500}) // 500 * 14 / 2
    clock.ms += 500
    expect(meter.start(jobs[1]!)).toMatchObject({etaMs: 7000})
    clock.ms += 1000
    expect(meter.end(jobs[1]!, false)).toMatchObject({done: 2, etaMs: 2000}) // 2000 * 8 / 8
    expect(meter.end(jobs[2]!, false)).toMatchObject({done: 3, etaMs: 0, label: ''})
  })

  it('counts the cells of an earlier session as done, but not their time', () => {
    const {jobs, clock, meter} = session([1, 1], 5)
    clock.ms += 100
    expect(meter.end(jobs[0]!, false)).toMatchObject({done: 6, total: 7, etaMs: 100})
  })

  it('counts failures', () => {
    const {jobs, meter} = session([1, 1])
    expect(meter.end(jobs[0]!, true)).toMatchObject({done: 1, failed: 1})
    expect(meter.end(jobs[1]!, false)).toMatchObject({done: 2, failed: 1})
  })

  it('names the cell begun last of those that run', () => {
    const {jobs, meter} = session([1, 1, 1])
    meter.start(jobs[0]!)
    expect(meter.start(jobs[1]!).label).toBe('job 1')
    expect(meter.end(jobs[1]!, false).label).toBe('job 0')
  })

  it('takes a cell without a predicted cost as the cheapest that has one', () => {
    const {jobs, clock, meter} = session([0, 3, Number.NaN])
    clock.ms += 100
    expect(meter.end(jobs[0]!, false).etaMs).toBe(200)
  })

  it('counts cells when none has a predicted cost', () => {
    const {jobs, clock, meter} = session([0, 0, 0])
    clock.ms += 100
    expect(meter.end(jobs[1]!, false).etaMs).toBe(200)
  })
})
