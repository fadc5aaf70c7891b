/**
 * Intervals by resampling, for statistics without a formula. They see no more of a tail than the sample does, and below some
 * 20 values they are too short: docs/statistics.md has their coverage.
 */
import {expected} from '../errors.js'
import type {RandomStream} from '../random/index.js'
import {median, quantileOfSorted} from './descriptive.js'
import {normalCdf} from './distributions.js'
import type {Estimate} from './estimate.js'
import {logLogSlope} from './fits.js'
import {normalQuantile} from './normal.js'
import {CONFIDENCE, checkPaired, checkShare} from './tests.js'

/** Settings of a bootstrap. */
export interface BootstrapOptions {
  /** Where the resamples come from: the same stream, the same interval. */
  stream: RandomStream
  /** Default 2000: a nominal 2.5 % then lies between 1.8 and 3.2 % of all resamples, at two standard errors. */
  resamples?: number
  /** Default 0.95. */
  confidence?: number
  /**
   * `bca` (default) corrects for bias and for an error that grows with the value; `percentile` takes the quantiles as they are.
   */
  kind?: 'bca' | 'percentile'
}

/** Arrays whose entries belong together: they are drawn with the same indices. */
type Group = readonly Float64Array[]
type Statistic = (groups: readonly Group[]) => number

/**
 * A statistic of one sample.
 *
 * Source: Efron and Tibshirani 1993, "An Introduction to the Bootstrap", eq. 13.5 (percentile) and 14.9 to 14.15 (BCa).
 *
 * @param values - independent draws
 * @param statistic - of a resample, which it may neither change nor keep
 * @returns ends `NaN` where a resample gives `NaN`, below two values, and where BCa has no answer (all resamples on one side)
 * @throws {BAD_OPTION} for settings that are none
 */
export function bootstrap(
  values: ArrayLike<number>,
  statistic: (sample: Float64Array) => number,
  options: BootstrapOptions,
): Estimate {
  return resampled([[Float64Array.from(values)]], ([group]) => statistic(group![0]!), options)
}

/**
 * A statistic of pairs, which are drawn as pairs; see {@link bootstrap}.
 *
 * @throws {SHAPE_MISMATCH} for lists of different length
 */
export function bootstrapPairs(
  a: ArrayLike<number>,
  b: ArrayLike<number>,
  statistic: (a: Float64Array, b: Float64Array) => number,
  options: BootstrapOptions,
): Estimate {
  checkPaired('bootstrap', a, b)
  const group = [Float64Array.from(a), Float64Array.from(b)]
  return resampled([group], ([drawn]) => statistic(drawn![0]!, drawn![1]!), options)
}

/**
 * A statistic of several independent samples, each resampled by itself; see {@link bootstrap}.
 *
 * Source: Davison and Hinkley 1997, "Bootstrap Methods and their Application", section 3.2, the acceleration of several
 * samples in section 5.3.
 */
export function bootstrapCells(
  cells: readonly ArrayLike<number>[],
  statistic: (cells: readonly Float64Array[]) => number,
  options: BootstrapOptions,
): Estimate {
  const groups = cells.map(cell => [Float64Array.from(cell)])
  return resampled(groups, drawn => statistic(drawn.map(group => group[0]!)), options)
}

/** Settings of {@link bootstrapSlope}. */
export interface SlopeOptions extends BootstrapOptions {
  /** What stands for a cell; default its median. */
  of?: (values: Float64Array) => number
}

/**
 * Exponent of a power law through cells of independent measurements, each resampled by itself; see {@link bootstrapCells}.
 *
 * @param x - positive, one per cell, at least two different ones
 * @param cells - positive measurements
 * @throws {SHAPE_MISMATCH} unless there is a cell for each x
 * @throws {BAD_OPTION} for values without logarithm
 */
export function bootstrapSlope(
  x: ArrayLike<number>,
  cells: readonly ArrayLike<number>[],
  {of = median, ...options}: SlopeOptions,
): Estimate {
  return bootstrapCells(cells, drawn => logLogSlope(x, drawn.map(of)).slope, options)
}

function resampled(
  groups: readonly Group[],
  statistic: Statistic,
  {stream, resamples = 2000, confidence = CONFIDENCE, kind = 'bca'}: BootstrapOptions,
): Estimate {
  checkShare('bootstrap', 'confidence', confidence)
  if (!(Number.isInteger(resamples) && resamples > 0)) {
    throw expected(
      'BAD_OPTION',
      'bootstrap, `resamples`',
      'a positive whole number',
      `${resamples}`,
    )
  }
  const value = statistic(groups)
  const none = {value, low: Number.NaN, high: Number.NaN}
  if (Number.isNaN(value) || groups.some(([first]) => first!.length < 2)) return none
  const drawn = groups.map(group => group.map(values => new Float64Array(values.length)))
  const found = Float64Array.from({length: resamples}, () => {
    groups.forEach((group, at) => {
      draw(group, drawn[at]!, stream)
    })
    return statistic(drawn)
  }).sort()
  const risk = (1 - confidence) / 2
  const adjusted = kind === 'bca' ? correction(groups, statistic, value, found) : (p: number) => p
  const end = (p: number) => (Number.isNaN(p) ? p : quantileOfSorted(found, p))
  return {value, low: end(adjusted(risk)), high: end(adjusted(1 - risk))}
}

function draw(from: Group, into: Group, stream: RandomStream): void {
  const length = from[0]!.length
  for (let at = 0; at < length; at++) {
    const chosen = stream.integer(length)
    from.forEach((values, column) => {
      into[column]![at] = values[chosen]!
    })
  }
}

/** Where BCa looks for the quantile of a probability. */
function correction(
  groups: readonly Group[],
  statistic: Statistic,
  value: number,
  sorted: Float64Array,
): (p: number) => number {
  const below = sorted.filter(other => other < value).length
  const equal = sorted.filter(other => other === value).length
  // resamples of discrete data often give the value itself: half of them count as below
  const bias = normalQuantile((below + equal / 2) / sorted.length)
  const growth = acceleration(groups, statistic, value)
  return p => {
    const shifted = bias + normalQuantile(p)
    const stretch = 1 - growth * shifted
    return stretch > 0 ? normalCdf(bias + shifted / stretch) : Number.NaN
  }
}

/** A sixth of the skewness of the statistic, from what it loses with each value left out. */
function acceleration(groups: readonly Group[], statistic: Statistic, value: number): number {
  let [squares, cubes] = [0, 0]
  groups.forEach((group, at) => {
    const length = group[0]!.length
    const without = Float64Array.from({length}, (_, left) => {
      const rest = group.map(values => values.filter((_, index) => index !== left))
      return statistic(groups.map((other, index) => (index === at ? rest : other)))
    })
    const center = without.reduce((sum, other) => sum + other, 0) / length
    for (const other of without) {
      const influence = ((length - 1) * (center - other)) / length
      squares += influence ** 2
      cubes += influence ** 3
    }
  })
  // nothing moves it: the interval is one point
  return squares === 0 && Number.isFinite(value) ? 0 : cubes / squares ** 1.5 / 6
}
