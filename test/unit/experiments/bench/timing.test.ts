import {describe, expect, it} from 'vitest'
import {type Budget, timeMeasured, timeRuns} from '../../../../src/experiments/bench/timing.js'

/** A clock that advances by the given durations, one per run, and processors that are waited for so long. */
function watches(durations: number[], waited: number | null = 0) {
  let now = 0
  let reading = 0
  const clock = () => {
    if (reading++ % 2 === 1) now += durations[Math.floor(reading / 2) - 1] ?? 10
    return now
  }
  return {clock, waiting: () => () => waited}
}

const protocol = {warmup_runs: 2, min_runs: 3, max_runs: 10, min_time_ns: 0}

describe('timeRuns', () => {
  it('runs the warm-up before and besides the timed runs', async () => {
    let runs = 0
    const timing = await timeRuns(() => runs++, protocol, watches([]))
    expect(runs).toBe(5)
    expect(timing.runs).toBe(3)
  })

  it('goes on until the minimum time is measured', async () => {
    const timing = await timeRuns(() => {}, {...protocol, min_time_ns: 65}, watches([]))
    expect(timing.runs).toBe(7) // seven runs of 10
  })

  it('stops at the maximum number of runs', async () => {
    const timing = await timeRuns(() => {}, {...protocol, min_time_ns: 1e9}, watches([]))
    expect(timing.runs).toBe(10)
  })

  it('quotes median with interval, quartiles, minimum, mean and outliers, and keeps the samples in order', async () => {
    const durations = [10, 12, 11, 13, 100, 17, 12]
    const timing = await timeRuns(() => {}, {...protocol, min_runs: 7}, watches(durations, 5))
    expect(timing).toEqual({
      runs: 7,
      median_ns: 12,
      median_low_ns: 10,
      median_high_ns: 100,
      q1_ns: 11.5,
      q3_ns: 15,
      min_ns: 10,
      mean_ns: 25,
      outliers: 1,
      severe_outliers: 1,
      outlier_counts: {low_severe: 0, low_mild: 0, high_mild: 0, high_severe: 1},
      waited_ns: 5,
      samples_ns: durations,
      turn_runs: [7],
    })
  })

  it.each([
    [1, {median_ns: 10, q1_ns: null, q3_ns: null, median_low_ns: null, median_high_ns: null}],
    [3, {median_ns: 11, q1_ns: null, q3_ns: null, median_low_ns: null, median_high_ns: null}],
    [4, {median_ns: 11.5, q1_ns: 10.75, q3_ns: 12.25, median_low_ns: null, median_high_ns: null}],
  ])('quotes of %d runs no more than there is to quote', async (min_runs, expected) => {
    const timing = await timeRuns(() => {}, {...protocol, min_runs}, watches([10, 12, 11, 13]))
    expect(timing).toMatchObject({runs: min_runs, min_ns: 10, ...expected})
  })

  it('spreads the least time over 24 turns, and warms up in each that follows one of others', async () => {
    let [runs, yields] = [0, 0]
    const steps: number[] = []
    const yieldTurn = async () => ++yields !== 3 // once nobody else computes
    const timing = await timeRuns(
      () => runs++,
      {...protocol, max_runs: 100, min_time_ns: 480},
      {...watches([]), yieldTurn, onStep: done => void steps.push(done)},
    )
    expect(yields).toBe(23)
    // runs of 10
    expect(timing).toMatchObject({runs: 48, turn_runs: Array.from({length: 24}, () => 2)})
    expect(runs).toBe(2 + 48 + 22)
    expect(steps.slice(0, 4)).toEqual([0, 41, 83, 125])
  })

  it('takes one run a turn where runs are long, without warming up, and sums the waiting', async () => {
    let runs = 0
    const long = Array.from({length: 3}, () => 2e9)
    const timing = await timeRuns(
      () => runs++,
      {...protocol, min_time_ns: 1e6},
      {...watches(long, 5), yieldTurn: async () => true},
    )
    expect(timing).toMatchObject({runs: 3, turn_runs: [1, 1, 1], waited_ns: 15})
    expect(runs).toBe(2 + 3)
  })

  it('spreads the most runs over the turns, too, and makes no fewer turns of slow runs', async () => {
    const yieldTurn = async () => false
    const most = await timeRuns(
      () => {},
      {...protocol, min_runs: 24, max_runs: 48, min_time_ns: 1e9},
      {...watches([]), yieldTurn},
    )
    expect(most.turn_runs).toEqual(Array.from({length: 24}, () => 2))
    const slow = await timeRuns(
      () => {},
      {...protocol, min_runs: 24, max_runs: 100, min_time_ns: 480},
      {...watches([10, 200, 10, 50]), yieldTurn},
    )
    expect(slow.turn_runs).toEqual([2, ...Array.from({length: 23}, () => 1)])
  })
})

describe('timeMeasured of runs that come several at a time', () => {
  /** Each run takes 10; as many as the budget has room for. */
  function bursts(budgets: Budget[]) {
    return async (counts: boolean, left: () => Budget) => {
      if (!counts) return [1e6]
      const budget = left()
      budgets.push(budget)
      const room = Math.max(1, Math.min(budget.runs, Math.ceil(budget.ns / 10)))
      return Array.from({length: room}, () => 10)
    }
  }
  const waiting = () => () => 0

  it('asks for what is left of the whole, alone', async () => {
    const budgets: Budget[] = []
    const timing = await timeMeasured(bursts(budgets), {...protocol, min_time_ns: 65}, {waiting})
    expect(budgets).toEqual([{runs: 10, ns: 65}])
    expect(timing).toMatchObject({runs: 7, turn_runs: [7], median_ns: 10})
  })

  it('asks for a share of it in each turn, and never for more than the most', async () => {
    const budgets: Budget[] = []
    const timing = await timeMeasured(
      bursts(budgets),
      {warmup_runs: 1, min_runs: 24, max_runs: 48, min_time_ns: 1e9},
      {waiting, yieldTurn: async () => true},
    )
    expect(timing.turn_runs).toEqual(Array(24).fill(2))
    expect(budgets.every(({runs}) => runs === 2)).toBe(true)
    expect(timing.runs).toBe(48)
  })

  it('goes on one at a time until there are enough', async () => {
    const budgets: Budget[] = []
    const timing = await timeMeasured(bursts(budgets), protocol, {waiting})
    expect(timing.turn_runs).toEqual([3])
    expect(budgets).toHaveLength(3)
  })
})
