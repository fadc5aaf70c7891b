import {describe, expect, it} from 'vitest'
import {processCells} from '../../../../../src/experiments/bench/measure/process-cells.js'
import {timed} from '../../../../helpers/records/bench.js'

const {cell} = timed()

describe('processCells', () => {
  it('divides runs and time among processes, and warms up each', () => {
    const timing = {processes: 3, warmup_runs: 2, min_runs: 10, max_runs: 300, min_time_ns: 1.2e9}
    const cells = processCells({...cell, timing})
    expect(cells).toHaveLength(3)
    for (const own of cells) {
      expect(own).toEqual({
        ...cell,
        timing: {warmup_runs: 2, min_runs: 4, max_runs: 100, min_time_ns: 4e8},
      })
    }
  })

  it('leaves all to one where none are asked for', () => {
    expect(processCells(cell)).toEqual([cell])
  })
})
