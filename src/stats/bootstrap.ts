import {expected} from '../errors.js'
import type {RandomStream} from '../random/index.js'
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
 * Percentile-bootstrap confidence interval: the quantiles of a statistic over resamples that the caller draws.
 *
 * Source: Efron 1979; percentile form: Efron and Tibshirani 1993, chapter 13. With few samples the
 * interval is too narrow (it cannot leave the range of what was seen).
 *
 * @param draw - makes one resample and returns the statistic of it
 * @returns both ends; `NaN` when the statistic was undefined (`NaN`) in every resample. Single
 *   undefined resamples, e.g. a ratio with a zero below, are not counted
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
