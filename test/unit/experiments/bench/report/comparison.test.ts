import {describe, expect, it} from 'vitest'
import {benchComparison} from '../../../../../src/experiments/bench/report/comparison.js'
import type {TimedRecord} from '../../../../../src/experiments/bench/schema.js'
import {PairedTimes, pDiffers} from '../../../../../src/experiments/bench/times/paired-times.js'
import {undisturbedTimes} from '../../../../../src/experiments/bench/times/processes.js'
import {FLOOR} from '../../../../../src/experiments/bench/times/time-estimates.js'
import type {ComparedLine, Related} from '../../../../../src/experiments/comparison.js'
import {studentQuantile, studentTail, welchTest} from '../../../../../src/stats/index.js'
import {
  decoded,
  exactForm,
  inProcesses,
  oneProcess,
  timed,
} from '../../../../helpers/records/bench.js'

const {measured, place} = benchComparison
/** Lines of two cells beside which there are no others. */
const lines = (a: TimedRecord, b: TimedRecord, related: Related) =>
  benchComparison.between(related, [a, b]).lines(a, b)

describe('benchComparison', () => {
  it("compares two runs by Welch's t on the logarithms of their processes", () => {
    const [a, b] = [
      timed({}, 1, inProcesses([1e6, 1.02e6, 1.01e6])),
      timed({}, 1, inProcesses([2e6, 2.3e6, 2.1e6, 1.9e6, 2.2e6])),
    ]
    const [time, memory] = lines(a, b, 'runs') as ComparedLine[]
    const [logs, others] = [b, a].map(({result}) => undisturbedTimes(result).map(Math.log))
    const {estimate, standardError, degrees} = welchTest(logs!, others!)
    const {value, low, high} = time!.ratio
    // what processes of one run have in common is in both
    const error = Math.hypot(standardError, Math.SQRT2 * FLOOR)
    const all = degrees * (error / standardError) ** 4
    const reach = studentQuantile(0.975, all) * error
    expect([value, low, high].map(Math.log)).toEqual(
      [0, -reach, reach].map(end => expect.closeTo(estimate.value + end, 12)),
    )
    expect(time).toMatchObject({quantity: 'time', basis: 'medians', effect: 1})
    expect(time!.pValue / (2 * studentTail(estimate.value / error, all))).toMatchReference(1, 9)
    expect(time!.b / time!.a).toMatchReference(value, 12)
    expect(memory).toMatchObject({quantity: 'memory', basis: 'exact', ratio: {value: 1, low: 1}})
  })

  it('takes what all times of two runs differ by for the machine, up to a factor of two', () => {
    const run = (factor: number, changed = 1) =>
      [1, 2, 3, 4, 5, 6, 7].map(M =>
        timed(
          {num_features: M},
          1,
          inProcesses([1, 1.02, 1.01].map(x => 1e6 * M * factor * (M === 7 ? changed : 1) * x)),
        ),
      )
    const answers = (b: TimedRecord[], number: number) => {
      const a = run(1)
      const compared = benchComparison.between('runs', [...a, ...b].slice(0, 7 + number))
      return b
        .slice(0, number)
        .map((record, at) => (compared.lines(a[at]!, record)[0] as ComparedLine).ratio.low > 1)
    }
    const none = new Array(7).fill(false)
    expect(answers(run(1.15), 7)).toEqual(none)
    expect(answers(run(1.15, 1.5), 7)).toEqual([...none.slice(1), true])
    expect(answers(run(2.2), 7)).toEqual(new Array(7).fill(true))
    // more threads, or another backend, are a reason
    const other = run(0.6).map(({result, ...rest}) => ({...rest, result: {...result, threads: 2}}))
    const compared = benchComparison.between('runs', [...run(1), ...other])
    const [line] = compared.lines(run(1)[0]!, other[0]!) as ComparedLine[]
    expect(line!.ratio.high).toBeLessThan(0.65)
    // five lines may have changed together
    expect(answers(run(1.15), 5)).toEqual(new Array(5).fill(true))
  })

  it('compares methods of one run process by process, beside its other cells', () => {
    const [a, b] = [timed({method: 'softmax'}, 1e6), timed({method: 'elu'}, 3e6)]
    const all = [a, b, ...[1, 2, 3, 4, 5].map(at => timed({num_features: at}, at * 1e6))]
    const times = new PairedTimes(all)
    const [time] = benchComparison.between('methods', all).lines(a, b) as ComparedLine[]
    const pValue = pDiffers(times.logRatio(b, a))
    expect(time).toMatchObject({basis: 'processes', ratio: times.ratio(b, a), pValue})
    const [alone] = lines(a, b, 'methods') as ComparedLine[]
    expect(alone!.ratio.value).toBe(time!.ratio.value)
    expect(alone!.pValue).toBeGreaterThan(pValue)
  })

  it('has no test of one process', () => {
    const [a, b] = [1e6, 2e6].map(ns => timed({}, 1, oneProcess([ns, ns])))
    for (const related of ['runs', 'methods'] as const) {
      const [time] = lines(a!, b!, related) as ComparedLine[]
      expect(time!.ratio.value).toMatchReference(2, 12)
      expect([time!.ratio.low, time!.ratio.high, time!.pValue]).toEqual([
        Number.NaN,
        Number.NaN,
        Number.NaN,
      ])
    }
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
    expect(found[0]!.ratio.value).toMatchReference((24 * 2e4) / (24 * 1e4 + 10 * 300), 12)
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
    expect(told[0]!.reason).toBe('only A has a time at this number of tokens')
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
