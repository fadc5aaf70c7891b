import {describe, expect, it} from 'vitest'
import {
  sharingKey,
  splitCell,
  trialOf,
} from '../../../../../src/experiments/bench/measure/process-cells.js'
import {timed} from '../../../../helpers/records/bench.js'

const {cell} = timed()
const timing = {processes: 3, warmup_runs: 2, min_runs: 10, max_runs: 300, min_time_ns: 1.2e9}

describe('splitCell', () => {
  it('divides runs and time among processes, and warms up each', () => {
    const cells = splitCell({...cell, timing})
    expect(cells).toHaveLength(3)
    for (const own of cells) {
      expect(own).toEqual({
        ...cell,
        timing: {warmup_runs: 2, min_runs: 4, max_runs: 100, min_time_ns: 4e8},
      })
    }
  })

  it('leaves all to one where none are asked for', () => {
    expect(splitCell(cell)).toEqual([cell])
  })
})

describe('trialOf', () => {
  it('makes one run behind the warm-up', () => {
    const {cell: own} = trialOf({...cell, timing})!
    expect(own).toEqual({
      ...cell,
      timing: {warmup_runs: 2, min_runs: 1, max_runs: 1, min_time_ns: 0},
    })
  })

  it('has one process for all lengths and sizes of a method', () => {
    const key = (changes: Partial<typeof cell>) => trialOf({...cell, ...changes})!.key
    expect(key({seq_len: 7, num_features: 5})).toBe(key({}))
    expect(key({method: 'elu'})).not.toBe(key({}))
    expect(key({threads: 7})).not.toBe(key({}))
  })

  it('is left out for a peer and an engine', () => {
    expect(trialOf({...cell, peer: 'torch'})).toBeUndefined()
    expect(trialOf({...cell, engine: 'transformers'})).toBeUndefined()
  })
})

describe('sharingKey', () => {
  it('is the same for what one backend computes with as many threads', () => {
    const key = (changes: object) => sharingKey({...cell, ...changes})
    expect(key({method: 'elu', seq_len: 7})).toBe(key({}))
    for (const changes of [
      {backend: 'cpu'},
      {threads: 7},
      {peer: 'torch'},
      {engine: 'transformers' as const},
      {plugin: 'aa'},
    ]) {
      expect(key(changes)).not.toBe(key({}))
    }
  })
})
