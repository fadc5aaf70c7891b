import {describe, expect, it} from 'vitest'
import {normals, randomStream} from '../../../src/random/index.js'
import {
  type BootstrapOptions,
  drawInto,
  percentileInterval,
  requireSamples,
  type Statistic,
} from '../../../src/stats/bootstrap.js'
import {mean, median, variance} from '../../../src/stats/index.js'

const options = {seed: 7, name: 'test'}
const normalSample = (index: number, length = 30) =>
  normals(randomStream(11, 'test.sample', index), length)

/** The interval of a statistic of one sample. */
function bootstrapInterval(
  samples: ArrayLike<number>,
  statistic: Statistic,
  given: BootstrapOptions,
) {
  requireSamples(samples.length)
  const stream = randomStream(given.seed, `test.${given.name}`)
  const resample = new Float64Array(samples.length)
  return percentileInterval(given, () => {
    drawInto(resample, samples, stream)
    return statistic(resample)
  })
}

describe('percentileInterval', () => {
  it('gives the same bytes for the same seed and name, and others for others', () => {
    const sample = normalSample(0)
    const interval = bootstrapInterval(sample, mean, options)
    expect(bootstrapInterval(sample, mean, options)).toEqual(interval)
    expect(bootstrapInterval(sample, mean, {...options, seed: 8})).not.toEqual(interval)
    expect(bootstrapInterval(sample, mean, {...options, name: 'other'})).not.toEqual(interval)
  })

  it('of the mean covers the true mean about as often as asked', () => {
    const trials = 400
    let covered = 0
    for (let trial = 0; trial < trials; trial++) {
      const {low, high} = bootstrapInterval(normalSample(trial), mean, {...options, resamples: 500})
      if (low <= 0 && 0 <= high) covered++
    }
    // A percentile interval of n = 30 has half-width z * s * sqrt((n-1)/n): Student's t puts its true
    // coverage at P(|t29| <= 1.96 * sqrt(29/30)) = 0.937. Binomial spread at 400 trials: 0.0121; five of
    // them to either side.
    const spread = Math.sqrt((0.937 * 0.063) / trials)
    expect(Math.abs(covered / trials - 0.937)).toBeLessThan(5 * spread)
  })

  it('widens with the confidence', () => {
    const width = (confidence: number) => {
      const {low, high} = bootstrapInterval(normalSample(1), mean, {...options, confidence})
      return high - low
    }
    expect(width(0.5)).toBeLessThan(width(0.8))
    expect(width(0.8)).toBeLessThan(width(0.99))
  })

  it('is a point for equal values and for one value', () => {
    expect(bootstrapInterval([4, 4, 4], median, options)).toEqual({low: 4, high: 4})
    expect(bootstrapInterval([4], median, options)).toEqual({low: 4, high: 4})
  })

  it('does not count resamples whose statistic is undefined', () => {
    // the ratio is 0/0 whenever both draws are the same value
    const {low, high} = bootstrapInterval(
      [1, 2],
      values => variance(values) / variance(values),
      options,
    )
    expect([low, high]).toEqual([1, 1])
  })

  it('is NaN when the statistic is always undefined', () => {
    const {low, high} = bootstrapInterval([5], variance, options)
    expect([low, high]).toEqual([Number.NaN, Number.NaN])
  })

  it.each([
    ['no samples', [], {}, /at least one sample, got none/],
    ['confidence 1', [1], {confidence: 1}, /confidence: expected a number between 0 and 1, got 1/],
    ['confidence 0', [1], {confidence: 0}, /got 0/],
    [
      'no resamples',
      [1],
      {resamples: 0},
      /resamples: expected a whole number of at least 1, got 0/,
    ],
    ['half a resample', [1], {resamples: 1.5}, /got 1.5/],
  ])('refuses %s', (_, samples, changes, message) => {
    const act = () => bootstrapInterval(samples, mean, {...options, ...changes})
    expect(act).toThrow(message)
    expect(act).toThrow(expect.objectContaining({code: 'BAD_OPTION'}))
  })
})
