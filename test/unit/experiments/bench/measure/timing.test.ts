import {describe, expect, it} from 'vitest'
import {
  type Budget,
  timeMeasured,
  timeRuns,
} from '../../../../../src/experiments/bench/measure/timing.js'
import type {NextTurn} from '../../../../../src/experiments/experiment.js'

/** Of the usual protocol. */
const WARMUP = 2

/**
 * A clock that advances by the given durations, one per run behind the warm-up, whose runs take as long as the first, and
 * processors that are waited for so long.
 */
function watches(durations: number[], waited: number | null = 0) {
  const all = [...Array.from({length: WARMUP}, () => durations[0] ?? 10), ...durations]
  let now = 0
  let reading = 0
  const clock = () => {
    if (reading++ % 2 === 1) now += all[Math.floor(reading / 2) - 1] ?? 10
    return now
  }
  return {clock, waiting: () => () => waited}
}

const protocol = {warmup_runs: WARMUP, min_runs: 3, max_runs: 10, min_time_ns: 0}

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

  it('takes no turn to have waited for longer than its runs took', async () => {
    const timing = await timeRuns(() => {}, protocol, watches([10, 10, 10], 1000))
    expect(timing.waited_ns).toBe(timing.samples_ns.reduce((sum, ns) => sum + ns, 0))
  })

  it('stops at the maximum number of runs', async () => {
    const timing = await timeRuns(() => {}, {...protocol, min_time_ns: 1e9}, watches([]))
    expect(timing.runs).toBe(10)
  })

  it('quotes median, quartiles, minimum, mean and outliers, and keeps the samples in order', async () => {
    const durations = [10, 12, 11, 13, 100, 17, 12]
    const timing = await timeRuns(() => {}, {...protocol, min_runs: 7}, watches(durations, 5))
    expect(timing).toEqual({
      ...{runs: 7, median_ns: 12, median_low_ns: null, median_high_ns: null, q1_ns: 11.5},
      ...{q3_ns: 15, min_ns: 10, mean_ns: 25, outliers: 1, severe_outliers: 1},
      ...{outlier_counts: {low_severe: 0, low_mild: 0, high_mild: 0, high_severe: 1}, waited_ns: 5},
      samples_ns: durations,
      run_waits_ns: [],
      turn_runs: [7],
      process_turns: [1],
    })
  })

  it.each([
    [1, {median_ns: 10, q1_ns: null, q3_ns: null}],
    [3, {median_ns: 11, q1_ns: null, q3_ns: null}],
    [4, {median_ns: 11.5, q1_ns: 10.75, q3_ns: 12.25}],
  ])('quotes of %d runs no more than there is to quote', async (min_runs, expected) => {
    const timing = await timeRuns(() => {}, {...protocol, min_runs}, watches([10, 12, 11, 13]))
    expect(timing).toMatchObject({runs: min_runs, min_ns: 10, ...expected})
  })

  it('spreads the least time over 8 turns, and does not count the first run of each that follows one of others', async () => {
    let [runs, yields] = [0, 0]
    const steps: number[] = []
    // once nobody else computes
    const yieldTurn = async () => (++yields === 3 ? 'alone' : 'after others')
    const timing = await timeRuns(
      () => runs++,
      {...protocol, min_runs: 8, max_runs: 100, min_time_ns: 160},
      {...watches([]), yieldTurn, onStep: done => void steps.push(done)},
    )
    expect(yields).toBe(8)
    // runs of 10
    expect(timing).toMatchObject({runs: 16, turn_runs: Array.from({length: 8}, () => 2)})
    expect(timing.process_turns).toEqual([8])
    expect(runs).toBe(2 + 16 + 7)
    expect(steps).toEqual([0, 125, 250, 375, 500, 625, 750, 875])
  })

  it('asks for the first turn once it is warm, and reports no pace before', async () => {
    const seen: string[] = []
    await timeRuns(() => seen.push('run'), protocol, {
      ...watches([2e9, 2e9, 2e9]),
      yieldTurn: async () => {
        seen.push('asks')
        return 'after others'
      },
      onStep: () => seen.push('step'),
    })
    expect(seen.slice(0, 6)).toEqual(['run', 'run', 'asks', 'step', 'run', 'step'])
  })

  it('ends with what it has where there is no further turn', async () => {
    const answers: NextTurn[] = ['after others', 'alone', 'none']
    const timing = await timeRuns(
      () => {},
      {...protocol, min_runs: 8, max_runs: 100, min_time_ns: 160},
      {...watches([], 5), yieldTurn: async () => answers.shift()!},
    )
    expect(timing).toMatchObject({runs: 4, turn_runs: [2, 2], process_turns: [2], waited_ns: 10})
  })

  it('has nothing to tell where there is no first turn', async () => {
    let runs = 0
    const cut = timeRuns(() => runs++, protocol, {...watches([]), yieldTurn: async () => 'none'})
    await expect(cut).rejects.toMatchObject({code: 'INTERRUPTED'})
    expect(runs).toBe(2)
  })

  it('takes one run a turn where runs are long, without warming up, and sums the waiting', async () => {
    let runs = 0
    const long = Array.from({length: 3}, () => 2e9)
    const timing = await timeRuns(
      () => runs++,
      {...protocol, min_time_ns: 1e6},
      {...watches(long, 5), yieldTurn: async () => 'after others'},
    )
    expect(timing).toMatchObject({runs: 3, turn_runs: [1, 1, 1], waited_ns: 15})
    expect(runs).toBe(2 + 3)
  })

  it('spreads the most runs over the turns, too', async () => {
    const most = await timeRuns(
      () => {},
      {...protocol, min_runs: 8, max_runs: 16, min_time_ns: 1e9},
      {...watches([]), yieldTurn: async () => 'alone'},
    )
    expect(most.turn_runs).toEqual(Array.from({length: 8}, () => 2))
  })

  it('makes as many runs where others disturb them: time counts as the fastest run takes it', async () => {
    const slow = await timeRuns(
      () => {},
      {...protocol, min_runs: 8, max_runs: 100, min_time_ns: 160},
      {...watches([10, 80, 10, 50]), yieldTurn: async () => 'alone'},
    )
    expect(slow.turn_runs).toEqual(Array.from({length: 8}, () => 2))
    const alone = await timeRuns(() => {}, {...protocol, min_time_ns: 65}, watches([10, 80, 90]))
    expect(alone.runs).toBe(7)
  })

  it('ends a turn after 8 ms, however long it measures', async () => {
    const long = Array.from({length: 100}, () => 1e6)
    const {turn_runs} = await timeRuns(
      () => {},
      {...protocol, max_runs: 100, min_time_ns: 0.1e9},
      {...watches(long), yieldTurn: async () => 'alone'},
    )
    expect(turn_runs).toEqual([...Array.from({length: 12}, () => 8), 4])
  })

  /** Says that runs wait so long, one after the other. */
  const runWait = (waits: number[]) => () => () => waits.shift() ?? 0

  it('keeps what each run of 1 ms and more waited, where that is looked at', async () => {
    const times = [4e6, 9e6, 3e6]
    const seen = await timeRuns(() => {}, protocol, {
      ...watches(times),
      runWait: runWait([0, 0, 0, 6e6, 0]),
    })
    expect(seen).toMatchObject({samples_ns: times, run_waits_ns: [0, 6e6, 0], min_ns: 3e6})
    expect((await timeRuns(() => {}, protocol, watches(times))).run_waits_ns).toEqual([])
    const short = {...watches([4e5, 9e5, 3e5]), runWait: runWait([0, 0, 1e5, 1e5, 1e5])}
    expect((await timeRuns(() => {}, protocol, short)).run_waits_ns).toEqual([])
  })

  it('does not take a wait for one of a run that it would leave nothing of', async () => {
    const given = {...watches([4e6, 9e6, 5e6]), runWait: runWait([0, 0, 5e6, 7.5e6, 2e6])}
    expect((await timeRuns(() => {}, protocol, given)).run_waits_ns).toEqual([0, 0, 2e6])
  })
})

describe('timeMeasured of runs that come several at a time', () => {
  /** Each run takes 10; as many as the budget has room for. */
  function bursts(budgets: Budget[]) {
    return async (counts: boolean, left: () => Budget) => {
      if (!counts) return [10]
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
    expect(budgets).toEqual([{runs: 7, ns: Number.MAX_SAFE_INTEGER}])
    expect(timing).toMatchObject({runs: 7, turn_runs: [7], median_ns: 10})
    const cold: Budget[] = []
    await timeMeasured(bursts(cold), {...protocol, warmup_runs: 0, min_time_ns: 65}, {waiting})
    // how long a run takes is not known yet
    expect(cold).toEqual([{runs: 10, ns: 65}])
  })

  it('asks for a share of it in each turn, and never for more than the most', async () => {
    const budgets: Budget[] = []
    const timing = await timeMeasured(
      bursts(budgets),
      {warmup_runs: 1, min_runs: 8, max_runs: 16, min_time_ns: 1e9},
      {waiting, yieldTurn: async () => 'after others'},
    )
    expect(timing.turn_runs).toEqual(Array(8).fill(2))
    expect(budgets.every(({runs}) => runs === 2)).toBe(true)
    expect(timing.runs).toBe(16)
  })

  it('goes on one at a time until there are enough', async () => {
    const budgets: Budget[] = []
    const timing = await timeMeasured(bursts(budgets), protocol, {waiting})
    expect(timing.turn_runs).toEqual([3])
    expect(budgets).toHaveLength(3)
  })
})
