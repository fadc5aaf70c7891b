import {describe, expect, it} from 'vitest'
import {benchComparison} from '../../../../src/experiments/bench/comparison.js'
import {medianOf, timeRatio} from '../../../../src/experiments/bench/noise.js'
import type {ComparedLine} from '../../../../src/experiments/comparison.js'
import {ratioOf} from '../../../../src/stats/index.js'
import {decoded, exactForm, timed, timedInTurns} from '../../../helpers/records/bench.js'

const {lines, measured, place} = benchComparison

describe('benchComparison', () => {
  it('compares the medians of two runs, with what processes differ by in the interval', () => {
    const [a, b] = [timed({}, 1e6), timed({}, 2e6)]
    const [time, memory] = lines(a, b, 'runs') as ComparedLine[]
    const expected = ratioOf(medianOf(b), medianOf(a))
    expect(time).toMatchObject({quantity: 'time', basis: 'medians', effect: 1, ratio: expected})
    expect(expected.value).toBeCloseTo(2, 12)
    // 45 us and 3 %, twice, are more than the 2 % of the runs themselves
    const between = Math.hypot(
      Math.log1p(1.96 * Math.hypot(0.045, 0.03)),
      Math.log1p(1.96 * Math.hypot(0.0225, 0.03)),
    )
    expect(expected.low).toBeLessThan(2 * Math.exp(-between))
    expect(expected.low).toBeGreaterThan(2 * Math.exp(-1.2 * between))
    expect(time!.pValue).toBeLessThan(1e-6)
    expect(memory).toMatchObject({quantity: 'memory', basis: 'exact', ratio: {value: 1, low: 1}})
  })

  it('compares methods of one run turn by turn, where both took turns', () => {
    const [a, b] = [timedInTurns({method: 'softmax'}, 1e6), timedInTurns({method: 'elu'}, 3e6)]
    const [time] = lines(a, b, 'methods') as ComparedLine[]
    expect(time).toMatchObject({basis: 'turns', ratio: timeRatio(b, a)})
    const [once] = lines(timed({method: 'softmax'}), b, 'methods') as ComparedLine[]
    expect(once!.basis).toBe('medians')
  })

  it('has a line for each length at which both decodes were looked at', () => {
    const [a, b] = [decoded({}, {token: 1e4, more: 10}), decoded({}, {token: 2e4})]
    const found = lines(a, b, 'runs') as ComparedLine[]
    expect(found.map(({quantity, at}) => [quantity, at.tokens])).toEqual([
      ['time', '25'],
      ['memory', '25'],
      ['time', '100'],
      ['memory', '100'],
    ])
    expect(found[0]!.ratio.value).toBeCloseTo((24 * 2e4) / (24 * 1e4 + 10 * 300), 12)
    expect(found[3]!.ratio.value).toBe(12288 / 24000)
  })

  it('names the lengths at which one decode alone was looked at, those of A as open', () => {
    const [a, b] = [[25, 100], [100]].map(marks => decoded({}, {token: 1e4}, undefined, marks))
    const found = lines(a!, b!, 'runs')
    const told = found.filter(line => 'reason' in line)
    expect(told.map(({quantity, at, settled}) => [quantity, at.tokens, settled])).toEqual([
      ['time', '25', false],
      ['memory', '25', false],
    ])
    expect(told[0]!.reason).toBe('only A was looked at after as many tokens')
    expect(found).toHaveLength(4)
    const others = lines(b!, a!, 'runs').filter(line => 'reason' in line)
    expect(others.map(({settled}) => settled)).toEqual([true, true])
  })

  it('leaves out memory that neither holds', () => {
    const none = {live_bytes: 0}
    expect(lines(timed({}, 1e6, none), timed({}, 1e6, none), 'runs')).toHaveLength(1)
    const [, memory] = lines(timed({}, 1e6, none), timed(), 'runs') as ComparedLine[]
    expect(memory!.ratio.low).toBe(Number.POSITIVE_INFINITY)
  })

  it('measures the same whatever draws, backend, threads and protocol', () => {
    const {cell} = timed()
    const timing = {...cell.timing, min_runs: 99}
    const other = {...cell, seed: 9, backend: 'cpu' as const, threads: 3, timing, plugin: 'x'}
    expect(measured(other)).toEqual(measured(cell))
    expect(measured({...cell, batch: 2})).not.toEqual(measured(cell))
    expect(place(cell)).toMatchObject({method: 'favor-pos', L: '128', backend: ''})
  })

  it('has the exact forms first', () => {
    const all = [timed({seq_len: 256}), timed(), exactForm('softmax', 128, 1e6)]
    expect(benchComparison.inOrder!(all)).toEqual([all[2], all[1], all[0]])
  })
})
