import {describe, expect, it} from 'vitest'
import {decodeTo} from '../../../../../src/experiments/bench/report/lines/decode-to.js'
import type {TimedRecord} from '../../../../../src/experiments/bench/schema.js'
import {
  intervalOf,
  type LogTime,
  PairedTimes,
  pAbove,
  pBelow,
  pDiffers,
} from '../../../../../src/experiments/bench/times/paired-times.js'
import {undisturbedTimes} from '../../../../../src/experiments/bench/times/processes.js'
import {FLOOR} from '../../../../../src/experiments/bench/times/time-estimates.js'
import {
  type Estimate,
  leaning,
  logLogSlope,
  mapped,
  mean,
  sharedVariance,
  studentQuantile,
  studentTail,
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

const logs = ({result}: TimedRecord) => undisturbedTimes(result).map(Math.log)
const differences = (above: TimedRecord, below: TimedRecord) =>
  logs(above).map((log, at) => log - logs(below)[at]!)

/** Of a sum of so many squared weights: two of a ratio. */
const floor = (squares: number) => squares * FLOOR ** 2

/** The t interval of some differences with the floor in it, by Satterthwaite's degrees. */
function withFloor(values: readonly number[], squares = 2): LogTime {
  const [own, degrees] = [variance(values) / values.length, values.length - 1]
  const all = own + floor(squares)
  return {
    value: mean(values),
    error: Math.sqrt(all),
    degrees: Math.min(10_000, degrees * (all / own) ** 2),
  }
}

const ratioOf = (values: readonly number[]) => mapped(intervalOf(withFloor(values)), Math.exp)

function expectClose(found: Estimate, wanted: Estimate): void {
  for (const name of ['value', 'low', 'high'] as const) {
    expect(found[name] / wanted[name]).toMatchReference(1, 12)
  }
}

describe('ratios of fewer than six cells', () => {
  const times = new PairedTimes([A, B, C])

  it('have the t interval of the differences, process by process, with a floor', () => {
    expectClose(times.ratio(A, B), ratioOf(differences(A, B)))
    expectClose(times.ratio(B, A), ratioOf(differences(B, A)))
  })

  it('are tested as a t test does', () => {
    const found = times.logRatio(A, B)
    const {value, error, degrees} = withFloor(differences(A, B))
    expect(found.degrees / degrees).toMatchReference(1, 12)
    expect(pDiffers(found) / (2 * studentTail(value / error, degrees))).toMatchReference(1, 10)
    const bound = Math.log(1.9)
    const above = studentTail((value - bound) / error, degrees)
    expect(pAbove(found, bound)).toMatchReference(above, 12)
    expect(pBelow(found, bound)).toMatchReference(1 - above, 12)
  })

  it('have a floor where processes agree', () => {
    const [one, other] = [cellOf(1, [2e6, 2e6, 2e6]), cellOf(2, [1e6, 1e6, 1e6])]
    const {low, high} = new PairedTimes([one, other]).ratio(one, other)
    const reach = studentQuantile(0.975, 10_000) * Math.SQRT2 * FLOOR
    expect(high / 2).toMatchReference(Math.exp(reach), 6)
    expect(low / 2).toMatchReference(Math.exp(-reach), 6)
  })

  it('have exponents whose interval is that of the slopes of each process', () => {
    const rows = [A, C, B].map((row, at) => ({...row, cell: {...row.cell, seq_len: 100 * 2 ** at}}))
    const slopes = [0, 1, 2].map(process => {
      const medians = rows.map(({result}) => undisturbedTimes(result)[process]!)
      return logLogSlope([100, 200, 400], medians).slope
    })
    // weights of the lengths are -1, 0 and 1 over log(4)
    const squares = 2 / Math.log(4) ** 2
    expectClose(new PairedTimes(rows).exponent(rows), intervalOf(withFloor(slopes, squares)))
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
    const wanted = ratioOf(differences(A, cut).slice(0, 2))
    expectClose(new PairedTimes([A, cut]).ratio(A, cut), wanted)
  })
})

describe('ratios within a process', () => {
  /** Two processes of three turns, the first of which is faster for all cells. */
  const drifting = (factor: number, turns: readonly number[], changes: object = {}) => {
    const process = turns.flatMap((runs, turn) =>
      new Array<number>(runs).fill(1e6 * factor * (turn === 0 ? 1 : 1.1)),
    )
    return timed({num_features: factor}, 1, {
      ...{samples_ns: [...process, ...process], turn_runs: [...turns, ...turns]},
      ...{process_turns: [3, 3], threads: 1},
      ...changes,
    })
  }
  const ratioOfBoth = (changes: object = {}) => {
    const [long, short] = [drifting(2, [1, 9, 9], changes), drifting(1, [9, 1, 1], changes)]
    return new PairedTimes([long, short]).ratio(long, short).value
  }

  it('go turn by turn where waits are known, so that what slows both for a while cancels', () => {
    expect(ratioOfBoth()).toMatchReference(2, 12)
  })

  it.each([{threads: 2}, {waited_ns: null}])('go by all runs of a process with %j', changes => {
    expect(ratioOfBoth(changes)).toMatchReference(2.2, 12)
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
    const spread = found.value / 3 + floor(2)
    const degrees = found.degrees * (spread / (found.value / 3)) ** 2
    return mapped(intervalOf({value, error: Math.sqrt(spread), degrees}), Math.exp)
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
    const alone = new PairedTimes([A, same]).ratio(A, same).high
    expect(alone).toBeLessThan(2 * Math.exp(3 * FLOOR))
    expect(double.ratio(A, same).high).toBeGreaterThan(2 * 1.01)
  })

  it('do not feel what all cells of a process have in common, nor count it', () => {
    const factors = [1, 3, 0.7]
    const disturbed = all.map(row => {
      const medians = undisturbedTimes(row.result).map((time, at) => time * factors[at]!)
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
    const wanted = ratioOf(differences(A, cut).slice(0, 2))
    expectClose(new PairedTimes([...all, cut]).ratio(A, cut), wanted)
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
    // the fastest of four runs is 2 % below their median, the next one 1 %
    expect(undisturbedTimes(one!.result).map(Math.round)).toEqual([471_840, 481_277, 467_122])
    expectClose(found, ratioOf(differences(one!, other!)))
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
    const whole = times.logRatio(rows[0], rows[1])
    expect(times.logRatio(one!, other!).degrees / whole.degrees).toMatchReference(1, 9)
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

describe('times of a busy machine', () => {
  /** Ten runs of each of three processes, so many of which lost a slice of 20 ms. */
  const busy = (num_features: number, time: number, hit: number, result = {}) => {
    const runs = Array.from({length: 10}, (_, at) => (at < hit ? time + 20e6 : time))
    const samples_ns = [...runs, ...runs, ...runs]
    const turn_runs = [10, 10, 10]
    return timed({num_features}, 1, {samples_ns, turn_runs, process_turns: [1, 1, 1], ...result})
  }
  const [short, long] = [busy(1, 1e6, 0), busy(2, 8e6, 4)] as const

  it('are those of the runs that nothing disturbed', () => {
    expect(new PairedTimes([short, long]).ratio(long, short).value).toMatchReference(8, 9)
  })

  it('are those of runs without what they waited, where that is known', () => {
    const waits = [...Array.from({length: 10}, () => 20e6)]
    const run_waits_ns = [...waits, ...waits, ...waits]
    const hit = busy(2, 8e6, 10, {run_waits_ns, waited_ns: 600e6})
    expect(new PairedTimes([short, hit]).ratio(hit, short).value).toMatchReference(8, 9)
  })

  it('tell nothing where usual runs say something else than undisturbed ones', () => {
    const most = busy(2, 8e6, 8)
    const found = new PairedTimes([short, most]).logRatio(most, short)
    expect(found.error).toBe(Number.POSITIVE_INFINITY)
    expect(intervalOf(found)).toMatchObject({low: -Infinity, high: Infinity})
    expect(pDiffers(found)).toBe(1)
    expect(pAbove(found, 0)).toBe(0.5)
  })

  it('tell nothing where no run was undisturbed', () => {
    const all = busy(2, 8e6, 10, {waited_ns: 600e6})
    expect(new PairedTimes([short, all]).ratio(all, short).high).toBe(Infinity)
    const quiet = busy(2, 28e6, 0, {waited_ns: 0})
    expect(new PairedTimes([short, quiet]).ratio(quiet, short).value).toMatchReference(28, 9)
  })

  it('tell nothing where several threads waited for a third of the time: others may have done their work', () => {
    const waiting = (share: number, threads: number) => {
      const waited_ns = share * 30 * 8e6
      return busy(2, 8e6, 0, {threads, waited_ns})
    }
    const gain = (row: TimedRecord) => new PairedTimes([short, row]).ratio(row, short)
    expect(gain(waiting(0.34, 2)).high).toBe(Infinity)
    expect(gain(waiting(0.3, 2)).value).toMatchReference(8, 9)
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
