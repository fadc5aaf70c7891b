import {expected} from '../errors.js'
import {type RandomStream, randomStream} from '../random/index.js'
import {quantileOfSorted} from './descriptive.js'

/** A number computed from a sample; must not keep the array it is given, which is reused. */
export type Statistic = (values: Float64Array) => number

/** What a bootstrap depends on beside the sample: same options, same bytes. */
export interface BootstrapOptions {
  /** Resamples drawn. Default 2000. */
  resamples?: number
  /** Coverage of the interval, between 0 and 1. Default 0.95. */
  confidence?: number
  /** The plan's seed. */
  seed: number
  /** What is resampled, e.g. `mse`: different names draw independently. */
  name: string
}

/** Both ends of an interval. */
export interface Interval {
  low: number
  high: number
}

const DEFAULT_RESAMPLES = 2000
const DEFAULT_CONFIDENCE = 0.95

/**
 * Percentile-bootstrap confidence interval of a statistic: the quantiles of its values over samples
 * drawn with replacement.
 *
 * Source: Efron 1979; percentile form: Efron and Tibshirani 1993, chapter 13. With few samples the
 * interval is too narrow (it cannot leave the range of what was seen).
 *
 * @param samples - at least one value, in any order
 * @returns both ends; `NaN` when the statistic was undefined (`NaN`) in every resample. Single
 *   undefined resamples, e.g. a ratio with a zero below, are not counted
 * @throws {BAD_OPTION} for an empty sample, a confidence outside (0, 1) or no resamples
 */
export function bootstrapInterval(
  samples: ArrayLike<number>,
  statistic: Statistic,
  options: BootstrapOptions,
): Interval {
  requireSamples(samples.length)
  const stream = randomStream(options.seed, `bootstrap.${options.name}`)
  const resample = new Float64Array(samples.length)
  return percentileInterval(options, () => {
    drawInto(resample, samples, stream)
    return statistic(resample)
  })
}

/**
 * Percentile-bootstrap interval of `statistic(numerator) / statistic(denominator)`, resampling pairs
 * jointly: what both members of a pair share (the same seed, the same input) cancels as it should.
 *
 * @param numerator - one value per pair
 * @param denominator - the other value of each pair; same length
 * @returns as {@link bootstrapInterval}
 * @throws {SHAPE_MISMATCH} when the lengths differ
 * @throws {BAD_OPTION} as {@link bootstrapInterval}
 */
export function pairedRatioInterval(
  numerator: ArrayLike<number>,
  denominator: ArrayLike<number>,
  statistic: Statistic,
  options: BootstrapOptions,
): Interval {
  requireSamples(numerator.length)
  requireEqualLengths('bootstrap', 'pairs', numerator.length, denominator.length)
  const stream = randomStream(options.seed, `bootstrap.${options.name}`)
  const above = new Float64Array(numerator.length)
  const below = new Float64Array(numerator.length)
  return percentileInterval(options, () => {
    for (let i = 0; i < above.length; i++) {
      const pair = stream.integer(above.length)
      above[i] = numerator[pair]!
      below[i] = denominator[pair]!
    }
    return statistic(above) / statistic(below)
  })
}

/**
 * The percentile interval of a statistic whose resampling is the caller's.
 *
 * @param draw - makes one resample and returns the statistic of it
 * @throws {BAD_OPTION} for a confidence outside (0, 1) or no resamples
 */
export function percentileInterval(
  {resamples = DEFAULT_RESAMPLES, confidence = DEFAULT_CONFIDENCE}: BootstrapOptions,
  draw: () => number,
): Interval {
  if (!(confidence > 0 && confidence < 1)) {
    throw expected('BAD_OPTION', 'confidence', 'a number between 0 and 1', String(confidence))
  }
  if (!Number.isInteger(resamples) || resamples < 1) {
    throw expected('BAD_OPTION', 'resamples', 'a whole number of at least 1', String(resamples))
  }
  const values = Float64Array.from({length: resamples}, draw)
    .filter(value => !Number.isNaN(value))
    .sort()
  const tail = (1 - confidence) / 2
  return {low: quantileOfSorted(values, tail), high: quantileOfSorted(values, 1 - tail)}
}

/** Fills `out` with values of `samples` drawn with replacement. */
export function drawInto(out: Float64Array, samples: ArrayLike<number>, stream: RandomStream) {
  for (let i = 0; i < out.length; i++) out[i] = samples[stream.integer(samples.length)]!
}

/** @throws {BAD_OPTION} for an empty sample */
export function requireSamples(length: number): void {
  if (length === 0) throw expected('BAD_OPTION', 'bootstrap', 'at least one sample', 'none')
}

/** @throws {SHAPE_MISMATCH} when two arrays that belong together differ in length */
export function requireEqualLengths(where: string, what: string, a: number, b: number): void {
  if (a !== b) throw expected('SHAPE_MISMATCH', where, `${what} of equal length`, `${a} and ${b}`)
}
