import {describe, expect, it} from 'vitest'
import {
  isSettled,
  isSettledSlope,
  medianOf,
  medianOfRuns,
  odditiesOf,
  timeExponent,
  timeRatio,
} from '../../../../src/experiments/bench/noise.js'
import {normals, randomStream} from '../../../../src/random/index.js'
import {type Estimate, factorOf, ratioOf} from '../../../../src/stats/index.js'
import {steady, timed} from '../../../helpers/records/bench.js'

/** Runs of a busy machine: every other few take several times as long, as another program has the processor. */
const BUSY = [
  ...[907, 1180, 1076, 1362, 5070, 749, 530, 667, 6187, 1836, 10973, 8259, 656, 572, 577, 1769],
  ...[450, 355, 1077, 545, 365, 1293, 630, 332, 402, 435, 781, 1741, 371, 350, 496, 376, 553],
].map(us => 1000 * us)

describe('medianOfRuns', () => {
  it('knows the median of steady runs within their spread', () => {
    const {value, low, high} = medianOfRuns(steady(1e6), 0)
    expect(value).toBe(1e6)
    expect(low).toBeGreaterThanOrEqual(0.98e6)
    expect(high).toBeLessThanOrEqual(1.02e6)
  })

  it('has no interval below six runs', () => {
    expect(medianOfRuns([3, 1, 2, 5, 4], 0)).toEqual({value: 3, low: Number.NaN, high: Number.NaN})
    expect(medianOfRuns([3, 1, 2, 5, 4, 6], 0)).toEqual({value: 3.5, low: 1, high: 6})
  })

  it('takes time waited for a processor from its lower end, as no run shows it', () => {
    const runs = steady(1e6, 20)
    const free = medianOfRuns(runs, 0)
    // half of the 20 ms were spent waiting
    const {value, low, high} = medianOfRuns(runs, 10e6)
    expect([value, high]).toEqual([free.value, free.high])
    expect(low / free.low).toBeCloseTo(0.5, 12)
    expect(medianOfRuns(runs, 1e9).low).toBe(0)
    expect(medianOfRuns(runs, null)).toEqual(free)
  })

  it('does not take what outliers explain: one run that lost the processor says nothing of the others', () => {
    const runs = steady(1e6, 20).with(7, 5e6)
    expect(medianOfRuns(runs, 4e6 * (1 - 1e-12)).low).toBe(medianOfRuns(runs, 0).low)
    expect(medianOfRuns(runs, 8e6).low).toBeLessThan(0.85e6)
  })
})

describe('a ratio of two medians', () => {
  const ratio = (above: number[], below: number[]) =>
    ratioOf(medianOfRuns(above, 0), medianOfRuns(below, 0))

  it('is settled by steady runs and not by those of a busy machine', () => {
    expect(isSettled(ratio(steady(3e6), steady(1e6)))).toBe(true)
    expect(isSettled(ratio(BUSY, steady(1e6)))).toBe(false)
    expect(isSettled(ratio(steady(1e6), BUSY))).toBe(false)
    expect(isSettled(ratio(steady(3e6, 5), steady(1e6)))).toBe(false) // too few for an interval
  })

  /** Share of trials in which the interval of the ratio of equal medians holds 1. */
  function coverage(runs: number, correlation: number, trials = 2000): number {
    const own = Math.sqrt(1 - correlation ** 2)
    const times = (trial: number, which: number) => {
      const noise = normals(randomStream(17, 'test.ratio', runs, trial, which), runs)
      for (let i = 1; i < runs; i++) noise[i] = correlation * noise[i - 1]! + own * noise[i]!
      return Array.from(noise, Math.exp)
    }
    let covered = 0
    for (let trial = 0; trial < trials; trial++) {
      const {low, high} = ratio(times(trial, 0), times(trial, 1))
      if (low <= 1 && 1 <= high) covered++
    }
    return covered / trials
  }

  // three binomial standard deviations of 2000 trials at 95 %: 0.0146
  it.each([6, 10, 50])('has an interval that covers it with 95 %% after %d runs', runs => {
    expect(coverage(runs, 0)).toBeGreaterThan(0.95 - 0.0146)
  })

  it.each([10, 50])('nearly so after %d runs of which slow ones follow slow ones', runs => {
    expect(coverage(runs, 0.3)).toBeGreaterThan(0.95 - 0.0146)
    expect(coverage(runs, 0.6)).toBeGreaterThan(0.9 - 0.0201)
  })
})

describe('isSettledSlope', () => {
  const slope = (low: number, high: number): Estimate => ({value: 1.5, low, high})

  it('asks for ends within a quarter', () => {
    expect(isSettledSlope(slope(1.25, 1.75))).toBe(true)
    expect(isSettledSlope(slope(1.24, 1.5))).toBe(false)
    expect(isSettledSlope(slope(1.5, 1.76))).toBe(false)
    expect(isSettledSlope(slope(Number.NaN, Number.NaN))).toBe(false)
  })
})

describe('odditiesOf', () => {
  const oddities = (samples_ns: number[], waited_ns: number | null = 0) =>
    odditiesOf(timed({}, 1, {samples_ns, waited_ns}))

  it('finds nothing in steady runs, nor in a single slow one of twelve', () => {
    const none = {outliers: null, waiting: null, drift: null}
    expect(oddities(steady(1e6, 50))).toEqual(none)
    expect(oddities(steady(1e6).with(3, 4e6))).toEqual(none)
    expect(oddities(steady(1e6), null)).toEqual(none)
  })

  it('counts outliers by how far out they are, where they are many', () => {
    const {outliers} = oddities(BUSY)
    expect(outliers).toMatchObject({mild: 0, severe: 4, runs: 33})
    expect(outliers?.slowest).toBeCloseTo(10973 / 656, 10)
    // quartiles 0.99 and 1.02: fences at 1.065 and 1.11
    const runs = steady(1e6, 20).with(0, 1.09e6).with(8, 1.09e6).with(16, 1.12e6)
    expect(oddities(runs).outliers).toMatchObject({mild: 2, severe: 1})
  })

  it('finds a machine that lets the process wait', () => {
    expect(oddities(steady(1e6, 20), 0.9e6).waiting).toBeNull()
    expect(oddities(steady(1e6, 20), 5e6).waiting).toBeCloseTo(0.25, 12)
  })

  it('finds runs that become faster or slower, unless by little or in few', () => {
    const falling = [...steady(3e6, 6), ...steady(2e6, 6), ...steady(1e6, 6)]
    expect(oddities(falling).drift).toEqual({first: 3e6, last: 1e6})
    expect(oddities(falling.toReversed()).drift).toEqual({first: 1e6, last: 3e6})
    expect(oddities([...steady(1.2e6, 6), ...steady(1e6, 12)]).drift).toBeNull()
    expect(oddities([...steady(3e6, 6), ...steady(1e6, 11)]).drift).toBeNull()
  })

  it('has wide intervals for drifting runs too', () => {
    const runs = [...steady(3e6, 20), ...steady(1e6, 20)]
    expect(factorOf(medianOfRuns(runs, 0))).toBeGreaterThan(1.4)
  })
})

describe('ratios and exponents of times', () => {
  // in every third turn all takes four times as long
  const disturbed = (ns: number, seq_len = 64, turns = 12) => {
    const samples_ns = Array.from(
      {length: turns},
      (_, at) => ns * (at % 3 ? 1 : 4) * (1 + at / 1000),
    )
    return timed({seq_len}, ns, {samples_ns, turn_runs: samples_ns.map(() => 1)})
  }
  const apart = (record: ReturnType<typeof disturbed>) => ({
    ...record,
    result: {...record.result, turn_runs: []},
  })

  it('do not feel what disturbed all cells in a turn', () => {
    const [slow, fast] = [disturbed(3e8), disturbed(1e8)]
    const ratio = timeRatio(slow, fast)
    expect(ratio.value).toBeCloseTo(3, 10)
    // what processes differ by is left: 3 % twice
    expect(Math.log(ratio.high / 3)).toBeCloseTo(Math.SQRT2 * Math.log(1 + 1.96 * 0.03), 3)
    expect(factorOf(timeRatio(apart(slow), apart(fast)))).toBeGreaterThan(2)
    const lengths = [disturbed(1e8, 64), disturbed(4e8, 128), disturbed(16e8, 256)]
    expect(timeExponent(lengths).value).toBeCloseTo(2, 10)
    expect(isSettledSlope(timeExponent(lengths))).toBe(true)
    expect(isSettledSlope(timeExponent(lengths.map(apart)))).toBe(false)
  })

  it('are those of medians where turns are fewer than six', () => {
    const [slow, fast] = [disturbed(3e8, 64, 5), disturbed(1e8, 64, 5)]
    expect(timeRatio(slow, fast)).toEqual(ratioOf(medianOf(slow), medianOf(fast)))
  })
})
