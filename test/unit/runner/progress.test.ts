import {describe, expect, it} from 'vitest'
import {progressMeter} from '../../../src/runner/progress.js'
import {jobFor} from '../../helpers/runner/jobs.js'

/** Jobs of the given predicted times in ms, and a clock that the test sets. */
function session(times: number[], {reused = 0, processes = 1, coldMs = 0} = {}) {
  const jobs = times.map((predictedCost, seed) => ({...jobFor('job', seed), predictedCost}))
  const clock = {ms: 1000}
  const meter = progressMeter({
    jobs,
    reused,
    processes,
    coldMs,
    predictedMs: ({predictedCost}) => predictedCost,
    now: () => clock.ms,
  })
  return {jobs, clock, meter}
}

describe('progressMeter', () => {
  it('goes by the prediction until there is something else, and says so', () => {
    const {jobs, clock, meter} = session([1000, 3000])
    expect(meter.start(jobs[0]!)).toEqual({
      done: 0,
      total: 2,
      label: 'job 0',
      etaMs: 4000,
      share: 0,
      rough: true,
      failed: 0,
    })
    clock.ms += 600
    expect(meter.look()).toMatchObject({etaMs: 3400, share: 0.15, rough: true})
    clock.ms += 400
    expect(meter.end(jobs[0]!.key, false)).toMatchObject({done: 1, etaMs: 3000, rough: false})
  })

  it('takes no process to be slow for what its first cell alone takes', () => {
    const {jobs, clock, meter} = session([1000, 1000, 8000], {processes: 2, coldMs: 500})
    expect(meter.look().etaMs).toBe((10_000 + 2 * 500) / 2)
    meter.start(jobs[0]!)
    meter.start(jobs[1]!)
    clock.ms += 1500
    meter.end(jobs[0]!.key, false)
    expect(meter.end(jobs[1]!.key, false).etaMs).toBe(8000 / 2)
  })

  it('corrects predictions by how long cells took', () => {
    const {jobs, clock, meter} = session([20_000, 60_000])
    meter.start(jobs[0]!)
    clock.ms += 60_000 // three times as long
    const {etaMs} = meter.end(jobs[0]!.key, false)
    // one second of the prediction is still believed
    expect(etaMs).toBeCloseTo((60_000 * (1000 + 60_000)) / (1000 + 20_000))
    meter.start(jobs[1]!)
    expect(meter.end(jobs[1]!.key, false)).toMatchObject({done: 2, etaMs: 0, share: 1, label: ''})
  })

  it('moves within a cell that tells how far it is, and corrects the others by it', () => {
    const {jobs, clock, meter} = session([10_000, 10_000])
    meter.start(jobs[0]!)
    clock.ms += 10_000
    meter.hear(jobs[0]!, 30_000) // four times as long
    const slowness = (1000 + 10_000) / (1000 + 2500)
    expect(meter.look()).toMatchObject({rough: false})
    expect(meter.look().etaMs).toBeCloseTo(30_000 + 10_000 * slowness)
    clock.ms += 5000
    expect(meter.look().etaMs).toBeCloseTo(25_000 + 10_000 * slowness)
  })

  it('takes longer for a cell that takes longer than predicted, in silence', () => {
    const {jobs, clock, meter} = session([1000])
    meter.start(jobs[0]!)
    const etas = [0, 500, 20_000, 60_000].map(ms => {
      clock.ms = 1000 + ms
      return meter.look().etaMs
    })
    expect(etas.slice(0, 2)).toEqual([1000, 500])
    expect(etas[2]).toBeGreaterThan(0)
    expect(etas[3]).toBeGreaterThan(etas[2]!)
  })

  it('divides the time among processes, but no cell among them', () => {
    const {jobs, meter} = session([1000, 1000, 1000, 1000], {processes: 2})
    expect(meter.start(jobs[0]!).etaMs).toBe(2000)
    const last = session([1000, 8000], {processes: 2})
    last.meter.start(last.jobs[0]!)
    expect(last.meter.start(last.jobs[1]!).etaMs).toBe(8000)
  })

  it('counts the cells of an earlier session as done, but not their time', () => {
    const {jobs, clock, meter} = session([1, 1], {reused: 5})
    meter.start(jobs[0]!)
    clock.ms += 1
    expect(meter.end(jobs[0]!.key, false)).toMatchObject({done: 6, total: 7, etaMs: 1})
  })

  it('counts failures', () => {
    const {jobs, meter} = session([1, 1])
    meter.start(jobs[0]!)
    expect(meter.end(jobs[0]!.key, true)).toMatchObject({done: 1, failed: 1})
    meter.start(jobs[1]!)
    expect(meter.end(jobs[1]!.key, false)).toMatchObject({done: 2, failed: 1})
  })

  it('names the cell begun last of those that run', () => {
    const {jobs, meter} = session([1, 1, 1])
    meter.start(jobs[0]!)
    expect(meter.start(jobs[1]!).label).toBe('job 1')
    expect(meter.end(jobs[1]!.key, false).label).toBe('job 0')
  })

  it('has a time left where nothing is predicted to take any', () => {
    const {jobs, clock, meter} = session([0, 0])
    meter.start(jobs[0]!)
    clock.ms += 100
    expect(meter.look().etaMs).toBeGreaterThan(0)
    expect(Number.isFinite(meter.end(jobs[0]!.key, false).etaMs)).toBe(true)
  })
})
