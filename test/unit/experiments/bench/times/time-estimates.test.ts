import {describe, expect, it} from 'vitest'
import {isSettled} from '../../../../../src/answers/index.js'
import {PairedTimes} from '../../../../../src/experiments/bench/times/paired-times.js'
import {
  levelsOf,
  medianOf,
  waitingShare,
  warmingOf,
} from '../../../../../src/experiments/bench/times/time-estimates.js'
import {randomStream} from '../../../../../src/random/index.js'
import {studentTest} from '../../../../../src/stats/index.js'
import {inProcesses, oneProcess, steady, timed} from '../../../../helpers/records/bench.js'

const ofMedians = (...medians: number[]) => timed({}, 1, inProcesses(medians))

describe('medianOf', () => {
  it('is the geometric mean of processes with its t interval, as records have it', () => {
    const record = ofMedians(1e6, 1.1e6, 1.21e6)
    const {value, low, high} = medianOf(record)
    expect(value / 1.1e6).toMatchReference(1, 12)
    const {estimate} = studentTest([1e6, 1.1e6, 1.21e6].map(Math.log))
    expect(Math.log(low)).toMatchReference(estimate.low, 12)
    const {median_ns, median_low_ns, median_high_ns} = record.result
    expect({value, low, high}).toEqual({
      value: median_ns,
      low: median_low_ns,
      high: median_high_ns,
    })
  })

  it('has no interval of one process, however many runs it made', () => {
    const record = timed({}, 1, oneProcess(steady(1e6, 50)))
    expect(medianOf(record)).toEqual({value: 1e6, low: Number.NaN, high: Number.NaN})
    expect(record.result).toMatchObject({median_low_ns: null, median_high_ns: null})
  })
})

describe('a ratio of two medians', () => {
  const ratio = (above: number[], below: number[]) => {
    const rows = [timed({}, 1, inProcesses(above)), timed({batch: 2}, 1, inProcesses(below))]
    return new PairedTimes(rows).ratio(rows[0]!, rows[1]!)
  }

  it('is settled by processes that agree and not by others', () => {
    expect(isSettled(ratio([3e6, 3.03e6, 3.01e6], [1e6, 1.01e6, 1.02e6]))).toBe(true)
    expect(isSettled(ratio([3e6, 4e6, 3.01e6], [1e6, 1.01e6, 1.02e6]))).toBe(false)
    expect(isSettled(ratio([3e6], [1e6]))).toBe(false)
  })
})

describe('waitingShare', () => {
  it('is that of the timed time, where it is known', () => {
    const share = (waited_ns: number | null) =>
      waitingShare(timed({}, 1, {...oneProcess([3e6, 1e6]), waited_ns}))
    expect(share(1e6)).toBe(0.25)
    expect(share(0)).toBe(0)
    expect(share(null)).toBeNull()
  })
})

describe('warmingOf', () => {
  /** Processes whose first third of nine runs takes so many times as long. */
  const warming = (...factors: number[]) => {
    const samples_ns = factors.flatMap(factor =>
      [factor, 1, 1].flatMap(third => steady(third * 1e6, 3)),
    )
    const turn_runs = factors.map(() => 9)
    return warmingOf(timed({}, 1, {samples_ns, turn_runs, process_turns: factors.map(() => 1)}))
  }

  it('finds first runs that are slower in all processes', () => {
    const {value, low, high} = warming(2, 1.9, 2.1)!
    expect(value).toMatchReference(Math.cbrt(2 * 1.9 * 2.1), 12)
    const {estimate} = studentTest([2, 1.9, 2.1].map(Math.log))
    expect(Math.log(low)).toMatchReference(estimate.low, 12)
    expect(Math.log(high)).toMatchReference(estimate.high, 12)
  })

  it('finds none by little, in one process, or by chance', () => {
    expect(warming(1.2, 1.21, 1.19)).toBeNull()
    expect(warming(2)).toBeNull()
    // 4 is far from 1, but t of two degrees of freedom asks for more of three that differ so
    expect(warming(1, 1, 4)).toBeNull()
    expect(warming(0.5, 0.49, 0.51)).toBeNull()
  })

  it('finds none in fewer than three runs', () => {
    const samples_ns = [4e6, 1e6, 4e6, 1e6]
    const twice = {samples_ns, turn_runs: [2, 2], process_turns: [1, 1]}
    expect(warmingOf(timed({}, 1, twice))).toBeNull()
  })
})

describe('levelsOf', () => {
  it('has the spread of processes beside the noise of the turns in each', () => {
    const [quiet, noisy] = [0.01, 0.2]
    // two turns of logarithms s apart have a variance of s^2 / 2; their medians are pi / 4 of that off
    const turns = (center: number, apart: number) =>
      [-1, 1].map(side => 1e6 * Math.exp(center + (side * apart) / 2))
    const of = (centers: number[], apart: number) =>
      levelsOf({
        samples_ns: centers.flatMap(center => turns(center, apart)),
        turn_runs: centers.flatMap(() => [1, 1]),
        process_turns: centers.map(() => 2),
      })!
    const within = (apart: number) => Math.sqrt(((Math.PI / 2) * apart ** 2) / 2 / 2)
    const apart = of([-0.3, 0, 0.3], quiet)
    expect(apart.within).toMatchReference(within(quiet), 12)
    // the medians of two are means, not quite the exponentials of those of logarithms
    expect(apart.between).toMatchReference(Math.sqrt(0.3 ** 2 - within(quiet) ** 2), 4)
    const alike = of([-0.03, 0, 0.03], noisy)
    expect(alike.within).toMatchReference(within(noisy), 12)
    expect(alike.between).toBe(0)
  })

  it('counts what follows each other in a turn as one', () => {
    const stream = randomStream(3, 'test.levels')
    const noise = Array.from({length: 3 * 4}, () => Math.exp(0.1 * stream.normal()))
    const repeated = (runs: number) =>
      levelsOf({
        samples_ns: noise.flatMap(time => new Array<number>(runs).fill(time)),
        turn_runs: noise.map(() => runs),
        process_turns: [4, 4, 4],
      })
    expect(repeated(5)).toEqual(repeated(1))
  })

  it('is not known of one process, nor of processes with one turn', () => {
    expect(levelsOf({samples_ns: [1, 2], turn_runs: [1, 1], process_turns: [2]})).toBeNull()
    expect(levelsOf(ofMedians(1, 2, 3).result)).toBeNull()
  })
})
