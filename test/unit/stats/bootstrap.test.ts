import {describe, expect, it} from 'vitest'
import {randomStream} from '../../../src/random/index.js'
import {
  bootstrap,
  bootstrapCells,
  bootstrapPairs,
  bootstrapSlope,
  type Estimate,
  logLogSlope,
  mean,
  median,
  quantile,
} from '../../../src/stats/index.js'
import {REFERENCE} from '../../helpers/stats-reference.js'

const stream = (index = 0) => randomStream(3, 'test.bootstrap', index)
/** Variance as NumPy has it. */
const spread = (sample: Float64Array) => mean(sample.map(x => (x - mean(sample)) ** 2))

/**
 * Whether an interval is SciPy's but for chance. Of 40,000 resamples 2.5 % are off by 0.08 %, and twice the bias by as much again
 * at most: the ends of 0.94 and 0.96, which are 0.5 % away, are four of their standard errors away.
 */
function expectNear({low, high}: Estimate, wanted: Record<'0.94' | '0.96', [number, number]>) {
  expect(low).toBeGreaterThan(wanted['0.96'][0])
  expect(low).toBeLessThan(wanted['0.94'][0])
  expect(high).toBeGreaterThan(wanted['0.94'][1])
  expect(high).toBeLessThan(wanted['0.96'][1])
}

describe('bootstrap', () => {
  const resamples = 40_000

  it('by BCa agrees with SciPy about one sample', () => {
    const {values, interval} = REFERENCE.bootstrap.one
    expectNear(bootstrap(values, spread, {stream: stream(), resamples}), interval)
  })

  it('draws pairs as pairs, as SciPy does', () => {
    const {a, b, interval} = REFERENCE.bootstrap.pairs
    const ratio = (x: Float64Array, y: Float64Array) => mean(x) / mean(y)
    expectNear(bootstrapPairs(a, b, ratio, {stream: stream(), resamples}), interval)
  })

  it('draws every cell by itself, as SciPy does', () => {
    const {x, cells, interval} = REFERENCE.bootstrap.cells
    const found = bootstrapSlope(x, cells, {stream: stream(), resamples, of: mean})
    expectNear(found, interval)
    expect(found.value).toBe(logLogSlope(x, cells.map(mean)).slope)
    const other = (drawn: readonly Float64Array[]) => logLogSlope(x, drawn.map(mean)).slope
    expect(bootstrapCells(cells, other, {stream: stream(), resamples})).toEqual(found)
  })

  it('by percentiles has the quantiles of all resamples that there are', () => {
    const values = [1, 2, 4, 8, 16]
    const sums = [0]
    for (const _ of values) {
      sums.splice(0, sums.length, ...sums.flatMap(sum => values.map(value => sum + value)))
    }
    const means = sums.map(sum => sum / 5)
    const options = {stream: stream(), resamples, kind: 'percentile', confidence: 0.8} as const
    const {value, low, high} = bootstrap(values, mean, options)
    // a tenth of the resamples is off by 5.3 standard errors of 0.15 % at most
    const chance = 5.3 * Math.sqrt((0.1 * 0.9) / resamples)
    expect(value).toBe(mean(values))
    expect(low).toBeGreaterThanOrEqual(quantile(means, 0.1 - chance))
    expect(low).toBeLessThanOrEqual(quantile(means, 0.1 + chance))
    expect(high).toBeGreaterThanOrEqual(quantile(means, 0.9 - chance))
    expect(high).toBeLessThanOrEqual(quantile(means, 0.9 + chance))
  })

  it('is the same for the same stream, and another for another', () => {
    const values = [1, 2, 4, 8, 16, 3]
    const interval = (index: number) => bootstrap(values, mean, {stream: stream(index)})
    expect(interval(1)).toEqual(interval(1))
    expect(interval(1)).not.toEqual(interval(2))
  })

  it('has medians of cells for slopes by default', () => {
    const cells = [
      [1, 2, 9],
      [2, 5, 6],
    ]
    const {value} = bootstrapSlope([1, 2], cells, {stream: stream()})
    expect(value).toBe(logLogSlope([1, 2], cells.map(median)).slope)
  })

  it('of values that do not vary is a point', () => {
    expect(bootstrap([3, 3, 3], mean, {stream: stream()})).toEqual({value: 3, low: 3, high: 3})
  })

  it('has no interval for one value, NaN, or a statistic at its own end', () => {
    const open = {low: Number.NaN, high: Number.NaN}
    expect(bootstrap([3], mean, {stream: stream()})).toEqual({value: 3, ...open})
    expect(bootstrap([3, Number.NaN], mean, {stream: stream()})).toMatchObject(open)
    expect(bootstrapCells([[1, 2], [3]], () => 5, {stream: stream()})).toMatchObject(open)
    // no resample exceeds the count of all values
    const different = (sample: Float64Array) => new Set(sample).size
    const values = Float64Array.from({length: 20}, (_, at) => at)
    expect(bootstrap(values, different, {stream: stream()})).toEqual({value: 20, ...open})
  })

  it.each([
    [{resamples: 0}, /bootstrap, `resamples`: expected a positive whole number, got 0/],
    [{resamples: 1.5}, /got 1.5/],
    [{confidence: 1}, /bootstrap, `confidence`: expected a number between 0 and 1, got 1/],
  ])('refuses %j', (options, message) => {
    const act = () => bootstrap([1, 2], mean, {stream: stream(), ...options})
    expect(act).toThrow(message)
    expect(act).toThrow(expect.objectContaining({code: 'BAD_OPTION'}))
  })

  it('refuses pairs without partner', () => {
    const act = () => bootstrapPairs([1, 2], [1], () => 0, {stream: stream()})
    expect(act).toThrow(/bootstrap: expected as many first as second values, got 2 and 1/)
    expect(act).toThrow(expect.objectContaining({code: 'SHAPE_MISMATCH'}))
  })
})
