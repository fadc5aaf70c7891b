import {describe, expect, it} from 'vitest'
import {benchFigures} from '../../../../../../src/experiments/bench/report/figures/figures.js'
import {decoded, exactForm, oneProcess, timed} from '../../../../../helpers/records/bench.js'

describe('figures of a benchmark', () => {
  const records = [1024, 512].flatMap(L => [
    exactForm('softmax-online', L, 2 * L ** 2),
    timed({seq_len: L}, 3000 * L, {live_bytes: 1024 * L}),
  ])

  it('has a line for each variant over length, times in ms', () => {
    const [time] = benchFigures(records)
    expect(time!.name).toBe('time-over-length')
    const [exact, features] = time!.series
    expect(exact!.label).toBe('softmax-online')
    expect(exact!.note).toMatch(/^L\^2\.00 \[1\.9\d, 2\.0\d\]$/)
    expect(features!.label).toBe('favor-pos orth M=64')
    expect(features!.note).toBe('L^1.00 [0.95, 1.05]')
    expect(time!.caption).toContain('L^: how time grows')
    expect(features!.points.map(({x}) => x)).toEqual([512, 1024])
    expect(features!.points[0]!.y).toMatchReference((3000 * 512) / 1e6, 3)
    for (const {y, low, high} of features!.points) {
      expect(low!).toBeLessThan(y)
      expect(high!).toBeGreaterThan(y)
    }
  })

  it('has slopes of 1 and 2 beside the lowest and the highest line of memory', () => {
    const {guides, series} = benchFigures(records)[1]!
    expect(guides.map(({label}) => label)).toEqual(['L^1', 'L^2'])
    const [linear, quadratic] = guides.map(({points: [from, to]}) => to![1] / from![1])
    expect(linear).toMatchReference(2, 12)
    expect(quadratic).toMatchReference(4, 12)
    const ends = series.map(({points}) => points.at(-1)!.y)
    expect(guides[0]!.points[1]![1]).toBeLessThan(Math.min(...ends))
    expect(guides[1]!.points[1]![1]).toBeGreaterThan(Math.max(...ends))
  })

  it('has the memory of calls in MiB', () => {
    const memory = benchFigures(records)[1]!
    expect(memory.name).toBe('memory-over-length')
    expect(memory.caption).not.toContain('L^')
    expect(memory.series[1]!.points.map(({y}) => y)).toEqual([0.5, 1])
  })

  it('has latency and state of decodes over tokens', () => {
    const [latency, state] = benchFigures([decoded({}, {token: 1e6, more: 10_000})])
    expect(latency!.series[0]!.points.map(({x, y}) => [x, y])).toEqual([
      [25, expect.closeTo(1.25, 9)],
      [64, expect.closeTo(1.64, 9)],
      [100, expect.closeTo(2, 9)],
    ])
    // processes 1 % apart: t of two degrees of freedom is 4.303, over sqrt(3) 2.48
    for (const {y, low, high} of latency!.series[0]!.points) {
      expect(Math.log(high! / y)).toMatchReference(0.02484, 3)
      expect(Math.log(y / low!)).toMatchReference(0.02484, 3)
    }
    expect(state!.series[0]!.points[0]!.y).toBe((240 * 25) / 2 ** 20)
  })

  it('has points without bars where one process took the times', () => {
    const once = [512, 1024].map(seq_len => timed({seq_len}, 1, oneProcess([1e6 * seq_len])))
    const [time] = benchFigures(once)
    expect(time!.series[0]!.label).toBe('favor-pos orth M=64')
    for (const {low, high, facts} of time!.series[0]!.points) {
      expect([low, high]).toEqual([Number.NaN, Number.NaN])
      expect(facts!.join()).not.toContain('interval')
    }
    expect(time!.caption).not.toContain('L^:')
    expect(time!.table.rows.map(row => row.at(-1))).toEqual(['512', '1020'])
  })

  it('is not drawn of one length', () => {
    expect(benchFigures([timed()])).toEqual([])
  })
})
