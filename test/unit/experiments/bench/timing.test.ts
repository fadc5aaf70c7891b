import {describe, expect, it} from 'vitest'
import {timeRuns} from '../../../../src/experiments/bench/timing.js'

/** A clock that advances by the given durations, one per run. */
function fakeClock(durations: number[]) {
  let now = 0
  let reading = 0
  return () => {
    if (reading++ % 2 === 1) now += durations[Math.floor(reading / 2) - 1] ?? 10
    return now
  }
}

const protocol = {warmup_runs: 2, min_runs: 3, max_runs: 10, min_time_ns: 0}

describe('timeRuns', () => {
  it('runs the warm-up before and besides the timed runs', () => {
    let runs = 0
    const timing = timeRuns(() => runs++, protocol, fakeClock([]))
    expect(runs).toBe(5)
    expect(timing.runs).toBe(3)
  })

  it('goes on until the minimum time is measured', () => {
    const timing = timeRuns(() => {}, {...protocol, min_time_ns: 65}, fakeClock([]))
    expect(timing.runs).toBe(7) // seven runs of 10
  })

  it('stops at the maximum number of runs', () => {
    const timing = timeRuns(() => {}, {...protocol, min_time_ns: 1e9}, fakeClock([]))
    expect(timing.runs).toBe(10)
  })

  it('quotes median, quartiles, minimum, mean and outliers, and keeps the samples in order', () => {
    const durations = [10, 12, 11, 13, 100]
    const timing = timeRuns(() => {}, {...protocol, min_runs: 5}, fakeClock(durations))
    expect(timing).toEqual({
      runs: 5,
      median_ns: 12,
      q1_ns: 11,
      q3_ns: 13,
      min_ns: 10,
      mean_ns: 29.2,
      outliers: 1,
      samples_ns: durations,
    })
  })
})
