import {describe, expect, it} from 'vitest'
import {decodeTo} from '../../../../../src/experiments/bench/report/decode-to.js'
import type {TimedRecord} from '../../../../../src/experiments/bench/schema.js'
import {
  type LogTime,
  PairedTimes,
  pAbove,
  pBelow,
  pDiffers,
} from '../../../../../src/experiments/bench/times/paired-times.js'
import {processMedians} from '../../../../../src/experiments/bench/times/processes.js'
import {
  type Estimate,
  leaning,
  logLogSlope,
  mapped,
  mean,
  sharedVariance,
  studentQuantile,
  studentTest,
  variance,
} from '../../../../../src/stats/index.js'
import {decoded, inProcesses, timed} from '../../../../helpers/records/bench.js'

const cellOf = (num_features: number, medians: readonly number[], threads = 1) =>
  timed({num_features}, 1, {...inProcesses(medians), threads})

const [A, B, C] = [
  cellOf(1, [2e6, 2.1e6, 1.9e6]),
  cellOf(2, [1e6, 1.02e6, 1.01e6]),
  cellOf(3, [5e6, 4.9e6, 5.3e6]),
]
/** Five more, with spreads about as large. */
const OTHERS = [
  [1, 1.03, 1.01],
  [2, 1.9, 2.03],
  [3, 3.1, 3.02],
  [4, 4.2, 3.9],
  [5, 5.1, 5.3],
].map((medians, at) => cellOf(10 + at, medians))

const logs = ({result}: TimedRecord) => processMedians(result).map(Math.log)
const differences = (above: TimedRecord, below: TimedRecord) =>
  logs(above).map((log, at) => log - logs(below)[at]!)

function expectClose(found: Estimate, wanted: Estimate): void {
  for (const name of ['value', 'low', 'high'] as const) {
    expect(found[name] / wanted[name]).toMatchReference(1, 12)
  }
}

describe('ratios of fewer than six cells', () => {
  const times = new PairedTimes([A, B, C])

  it('have the t interval of the differences, process by process', () => {
    const {estimate} = studentTest(differences(A, B))
    expectClose(times.ratio(A, B), mapped(estimate, Math.exp))
    expectClose(times.ratio(B, A), mapped(studentTest(differences(B, A)).estimate, Math.exp))
  })

  it('are tested as a t test does', () => {
    const found = times.logRatio(A, B)
    const test = studentTest(differences(A, B))
    expect(found).toMatchObject({degrees: 2})
    expect(pDiffers(found) / test.pValue).toMatchReference(1, 10)
    const bound = Math.log(1.9)
    const above = studentTest(differences(A, B), {mean: bound, alternative: 'greater'}).pValue
    expect(pAbove(found, bound)).toMatchReference(above, 12)
    expect(pBelow(found, bound)).toMatchReference(1 - above, 12)
  })

  it('have exponents whose interval is that of the slopes of each process', () => {
    const rows = [A, C, B].map((row, at) => ({...row, cell: {...row.cell, seq_len: 100 * 2 ** at}}))
    const slopes = [0, 1, 2].map(process => {
      const medians = rows.map(({result}) => processMedians(result)[process]!)
      return logLogSlope([100, 200, 400], medians).slope
    })
    expectClose(new PairedTimes(rows).exponent(rows), studentTest(slopes).estimate)
  })

  it('of one process have no ends, and no test', () => {
    const [one, other] = [cellOf(1, [2e6]), cellOf(2, [1e6])]
    const single = new PairedTimes([one, other])
    const {value, low, high} = single.ratio(one, other)
    expect(value).toMatchReference(2, 12)
    expect([low, high]).toEqual([Number.NaN, Number.NaN])
    expect(pDiffers(single.logRatio(one, other))).toBeNaN()
  })

  it('take the processes that both have, as where one was interrupted', () => {
    const cut = cellOf(2, [1e6, 1.02e6])
    const {estimate} = studentTest(differences(A, cut).slice(0, 2))
    expectClose(new PairedTimes([A, cut]).ratio(A, cut), mapped(estimate, Math.exp))
  })
})

describe('ratios of six cells and more', () => {
  const all = [A, B, C, ...OTHERS]
  const times = new PairedTimes(all)

  /** The interval from the definition. */
  function leaningRatio(above: TimedRecord, below: TimedRecord): Estimate {
    const centered = all.map(row => logs(row).map(log => log - mean(logs(row))))
    const common = [0, 1, 2].map(process => mean(centered.map(own => own[process]!)))
    const spreads = centered.map(own => variance(own.map((log, at) => log - common[at]!)))
    const shared = sharedVariance(
      spreads.map(spread => (spread * all.length) / (all.length - 1)),
      2,
    )
    const own = {value: variance(differences(above, below)), degrees: 2}
    const found = leaning(own, {...shared, value: 2 * shared.value})
    const value = mean(differences(above, below))
    const reach = studentQuantile(0.975, found.degrees) * Math.sqrt(found.value / 3)
    return mapped({value, low: value - reach, high: value + reach}, Math.exp)
  }

  it('lean on what the others say of the spread', () => {
    expectClose(times.ratio(A, B), leaningRatio(A, B))
    expectClose(times.ratio(C, A), leaningRatio(C, A))
    // t of 2 degrees of freedom is 4.3, of many 2
    const alone = new PairedTimes([A, B]).ratio(A, B)
    const {value, low, high} = times.ratio(A, B)
    expect(value).toBe(alone.value)
    expect(high - low).toBeLessThan((alone.high - alone.low) / 1.5)
  })

  it('are not certain of processes that agree by chance', () => {
    const same = cellOf(4, [1e6, 1.05e6, 0.95e6])
    expect(times.ratio(A, B).high).toBeGreaterThan(times.ratio(A, B).value * 1.01)
    const double = new PairedTimes([A, same, C, ...OTHERS])
    expect(new PairedTimes([A, same]).ratio(A, same).high).toMatchReference(2, 9)
    expect(double.ratio(A, same).high).toBeGreaterThan(2 * 1.01)
  })

  it('do not feel what all cells of a process have in common, nor count it', () => {
    const factors = [1, 3, 0.7]
    const disturbed = all.map(row => {
      const medians = processMedians(row.result).map((time, at) => time * factors[at]!)
      return cellOf(row.cell.num_features!, medians)
    })
    const found = new PairedTimes(disturbed)
    expectClose(found.ratio(disturbed[0]!, disturbed[1]!), times.ratio(A, B))
    expectClose(found.ratio(disturbed[5]!, disturbed[2]!), times.ratio(all[5]!, C))
  })

  it('lean on cells with as many threads and processes alone', () => {
    const [a, b] = [cellOf(1, [2e6, 2.1e6, 1.9e6], 2), cellOf(2, [1e6, 1.02e6, 1.01e6], 2)]
    const mixed = new PairedTimes([...all, a, b])
    expectClose(mixed.ratio(a, b), new PairedTimes([a, b]).ratio(a, b))
    expectClose(mixed.ratio(A, B), times.ratio(A, B))
    const cut = cellOf(2, [1e6, 1.02e6])
    const {estimate} = studentTest(differences(A, cut).slice(0, 2))
    expectClose(new PairedTimes([...all, cut]).ratio(A, cut), mapped(estimate, Math.exp))
  })
})

describe('decodes up to some token', () => {
  const runs = (...medians: number[]) => inProcesses(medians)
  const rows = [
    decoded({num_features: 1}, {token: 2e4}, runs(1, 1.02, 0.99)),
    decoded({num_features: 2}, {token: 1e4, more: 100}, runs(1, 0.97, 1.01)),
  ] as const

  it('have ratios of the times there', () => {
    const times = new PairedTimes(rows)
    const [one, other] = rows.map(row => decodeTo(row, 25)!)
    const found = times.ratio(one!, other!)
    expect(processMedians(one!.result).map(Math.round)).toEqual([480_000, 489_600, 475_200])
    expectClose(found, mapped(studentTest(differences(one!, other!)).estimate, Math.exp))
    // 24 tokens of 20 us, over 24 of 10 us and 100 ns for each of 300 before them
    const spread = (1 * 1.02 * 0.99) / (1 * 0.97 * 1.01)
    expect(found.value).toMatchReference((48 / 27) * Math.cbrt(spread), 9)
  })

  it('lean on the spread of the whole decodes, whose processes they are of', () => {
    const others = [1, 2, 3, 4].map(at =>
      decoded({num_features: 10 + at}, {token: 1e4}, runs(1, 1 + 0.02 * at, 1 - 0.01 * at)),
    )
    const times = new PairedTimes([...rows, ...others])
    const [one, other] = rows.map(row => decodeTo(row, 25)!)
    expect(times.logRatio(one!, other!).degrees).toBeGreaterThan(2)
    expect(times.logRatio(one!, other!).degrees).toBe(times.logRatio(rows[0], rows[1]).degrees)
  })

  it('are records of their own, and none where nobody looked', () => {
    const {marks} = rows[1].result
    const found = decodeTo(rows[1], 64)!
    expect(found.cell).toEqual({...rows[1].cell, seq_len: 64})
    expect(found.result).toMatchObject({
      median_ns: marks![1]!.total_ns,
      median_low_ns: marks![1]!.total_low_ns,
      median_high_ns: marks![1]!.total_high_ns,
      samples_ns: marks![1]!.total_samples_ns,
      process_turns: [1, 1, 1],
    })
    expect(decodeTo(rows[1], 33)).toBeUndefined()
    expect(decodeTo(timed(), 128)).toBeUndefined()
  })
})

describe('tests of what did not vary', () => {
  const certain = (value: number): LogTime => ({value, error: 0, degrees: 2})

  it('know it', () => {
    expect([pDiffers(certain(0)), pDiffers(certain(0.1)), pDiffers(certain(-0.1))]).toEqual([
      1, 0, 0,
    ])
    expect([pAbove(certain(1), 1), pAbove(certain(1), 0.9)]).toEqual([1, 0])
    expect([pBelow(certain(1), 1), pBelow(certain(1), 1.1)]).toEqual([1, 0])
  })
})
