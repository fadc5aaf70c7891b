import {describe, expect, it} from 'vitest'
import {
  exponentParts,
  logTimesByTurn,
  turnMedians,
} from '../../../../src/experiments/bench/turns.js'
import {logLogSlope} from '../../../../src/stats/index.js'
import {timed} from '../../../helpers/records/bench.js'

describe('turnMedians', () => {
  it('are of the runs of each turn', () => {
    const record = timed({}, 1, {samples_ns: [1, 3, 2, 10, 20], turn_runs: [3, 2]})
    expect(turnMedians(record)).toEqual([2, 15])
  })

  it('is one where turns were not recorded', () => {
    expect(turnMedians(timed({}, 1, {samples_ns: [1, 3, 2], turn_runs: []}))).toEqual([2])
  })
})

describe('logTimesByTurn', () => {
  const turns = (samples_ns: number[], seq_len = 64) =>
    timed({seq_len}, 1, {samples_ns, turn_runs: samples_ns.map(() => 1)})

  it('gives ratios in which what hit all in a turn cancels', () => {
    const logs = logTimesByTurn([
      {record: turns([6, 60, 6, 6]), weight: 1},
      {record: turns([3, 30, 3]), weight: -1},
    ])
    expect(Array.from(logs, Math.exp).map(x => Math.round(1e9 * x) / 1e9)).toEqual([2, 2, 2])
  })

  it('gives the exponents of least-squares lines, turn by turn', () => {
    const records = [turns([1, 2], 10), turns([5, 3], 20), turns([9, 31], 40)]
    const exponents = logTimesByTurn(exponentParts(records))
    expect(exponents[0]).toBeCloseTo(logLogSlope([10, 20, 40], [1, 5, 9]).slope, 12)
    expect(exponents[1]).toBeCloseTo(logLogSlope([10, 20, 40], [2, 3, 31]).slope, 12)
  })
})
