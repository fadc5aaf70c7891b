import {describe, expect, it} from 'vitest'
import {
  ofProcesses,
  processMedians,
  processRuns,
  turnMedians,
  turnMediansByProcess,
} from '../../../../../src/experiments/bench/times/processes.js'
import {studentTest} from '../../../../../src/stats/index.js'

/** Three turns of one process, two of the next. */
const TIMES = {
  samples_ns: [1, 3, 2, 10, 20, 5, 40, 60, 50],
  turn_runs: [3, 2, 1, 1, 2],
  process_turns: [3, 2],
}

describe('runs of processes', () => {
  it('are those of their turns', () => {
    expect(processRuns(TIMES)).toEqual([
      [1, 3, 2, 10, 20, 5],
      [40, 60, 50],
    ])
    expect(processMedians(TIMES)).toEqual([4, 50])
  })

  it('are of one where processes, or turns, were not recorded', () => {
    const {samples_ns, turn_runs} = TIMES
    for (const times of [
      {samples_ns, turn_runs, process_turns: []},
      {samples_ns, turn_runs: [], process_turns: []},
      {samples_ns, turn_runs: [9], process_turns: [1]},
    ]) {
      expect(processRuns(times)).toEqual([samples_ns])
      expect(processMedians(times)).toEqual([10])
    }
  })
})

describe('turnMedians', () => {
  it('are of the runs of each turn, and process by process', () => {
    expect(turnMedians(TIMES)).toEqual([2, 15, 5, 40, 55])
    expect(turnMediansByProcess(TIMES)).toEqual([
      [2, 15, 5],
      [40, 55],
    ])
  })

  it('is one where turns were not recorded', () => {
    const times = {samples_ns: [1, 3, 2], turn_runs: [], process_turns: []}
    expect(turnMedians(times)).toEqual([2])
    expect(turnMediansByProcess(times)).toEqual([[2]])
  })
})

describe('ofProcesses', () => {
  it('is the geometric mean with the t interval of the logarithms', () => {
    const {value, low, high} = ofProcesses([1e6, 1.21e6, 1.1e6])
    // t of 2 degrees of freedom has a closed form: 4.3027 at 97.5 %
    const quantile = 0.95 * Math.sqrt(2 / (4 * 0.975 * 0.025))
    // logarithms log(1.1) apart: so much is their standard deviation
    const factor = 1.1 ** (quantile / Math.sqrt(3))
    expect(value / 1.1e6).toMatchReference(1, 12)
    expect(high / 1.1e6).toMatchReference(factor, 12)
    expect(low / 1.1e6).toMatchReference(1 / factor, 12)
  })

  it('is that of Student for any number of them', () => {
    const medians = [3, 5, 4, 9, 2]
    const {estimate} = studentTest(medians.map(Math.log))
    const found = ofProcesses(medians)
    expect(Math.log(found.low)).toMatchReference(estimate.low, 12)
    expect(Math.log(found.high)).toMatchReference(estimate.high, 12)
  })

  it('has no interval of one process', () => {
    expect(ofProcesses([7])).toEqual({value: 7, low: Number.NaN, high: Number.NaN})
  })
})
