import {expected} from '../errors.js'
import {randomStream} from '../random/index.js'
import {
  type BootstrapOptions,
  drawInto,
  type Interval,
  percentileInterval,
  requireEqualLengths,
  requireSamples,
  type Statistic,
} from './bootstrap.js'
import {mean, median} from './descriptive.js'

/** A power law `y = exp(intercept) * x^slope`. */
export interface PowerLaw {
  slope: number
  /** Natural logarithm of y at x = 1. */
  intercept: number
  /** Share of the variance of log y that the line explains; 1 for a constant y. */
  r2: number
}

/**
 * Least-squares line through `(log x, log y)`: the exponent with which time grows with length, or
 * error falls with features.
 *
 * @param x - positive, at least two different values
 * @param y - positive, one per x
 * @throws {SHAPE_MISMATCH} when the lengths differ
 * @throws {BAD_OPTION} for values that have no logarithm, or fewer than two different x
 */
export function logLogSlope(x: ArrayLike<number>, y: ArrayLike<number>): PowerLaw {
  requireEqualLengths('log-log fit', 'x and y', x.length, y.length)
  return fitLine(logarithms('x', x), logarithms('y', y))
}

/**
 * The exponent of a power law through points that were each measured several times, with its
 * percentile-bootstrap interval: the samples of every point are resampled on their own.
 *
 * @param x - positive, at least two different values
 * @param samples - the measurements of each x; all positive
 * @param options - see {@link BootstrapOptions}; `statistic` makes one y of a point's samples.
 *   Default: the median
 * @throws {SHAPE_MISMATCH} when there is not one list of samples per x
 * @throws {BAD_OPTION} as {@link logLogSlope}, and for a point without samples
 */
export function slopeInterval(
  x: ArrayLike<number>,
  samples: readonly ArrayLike<number>[],
  options: BootstrapOptions & {statistic?: Statistic},
): Interval & {slope: number} {
  const {statistic = median, seed, name} = options
  requireEqualLengths('log-log fit', 'x and lists of samples', x.length, samples.length)
  for (const list of samples) requireSamples(list.length)
  const points = samples.map((list, index) => ({
    list: Float64Array.from(list),
    resample: new Float64Array(list.length),
    stream: randomStream(seed, `bootstrap.${name}`, index),
  }))
  const {slope} = logLogSlope(
    x,
    points.map(({list}) => statistic(list)),
  )
  const interval = percentileInterval(options, () => {
    const y = points.map(({list, resample, stream}) => {
      drawInto(resample, list, stream)
      return statistic(resample)
    })
    return logLogSlope(x, y).slope
  })
  return {slope, ...interval}
}

/** Natural logarithms, or a sentence about the first value that has none. */
function logarithms(axis: string, values: ArrayLike<number>): Float64Array {
  return Float64Array.from(values, (value, index) => {
    if (value > 0 && Number.isFinite(value)) return Math.log(value)
    throw expected(
      'BAD_OPTION',
      `log-log fit, ${axis}[${index}]`,
      'a positive number',
      String(value),
    )
  })
}

/** Ordinary least squares of y on x. */
function fitLine(x: Float64Array, y: Float64Array): PowerLaw {
  if (new Set(x).size < 2) {
    const got = x.length === 0 ? 'none' : `only one (${Math.exp(x[0]!)})`
    throw expected('BAD_OPTION', 'log-log fit', 'at least two different values of x', got)
  }
  if (new Set(y).size === 1) return {slope: 0, intercept: y[0]!, r2: 1}
  const xMean = mean(x)
  const yMean = mean(y)
  let xx = 0
  let xy = 0
  let yy = 0
  for (let i = 0; i < x.length; i++) {
    const dx = x[i]! - xMean
    const dy = y[i]! - yMean
    xx += dx * dx
    xy += dx * dy
    yy += dy * dy
  }
  const slope = xy / xx
  return {slope, intercept: yMean - slope * xMean, r2: (xy * xy) / (xx * yy)}
}
