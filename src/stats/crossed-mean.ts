/** Means over two samples that are crossed: every draw reads every text. */
import {mean, variance} from './descriptive.js'
import {studentQuantile, studentTail} from './distributions.js'
import type {Estimate} from './estimate.js'
import {CONFIDENCE} from './tests.js'

/** An estimate with its 95 % interval, and what it says of any bound. */
export interface CrossedEstimate {
  /** Ends are `NaN` where no axis has two values. */
  estimate: Estimate
  /** p against "it is `bound` or less". */
  above(bound: number): number
  /** p against "it is `bound` or more". */
  below(bound: number): number
}

/** What draws along one axis do to an estimate. */
export interface CrossedAxis {
  /** Standard error. */
  error: number
  /** Degrees of freedom of that. */
  degrees: number
}

/**
 * An estimate that varies along two axes. Each axis reaches as far as Student's t of its degrees of freedom, and reaches add in
 * squares: with three draws, degrees of freedom by Satterthwaite would cover 92.5 % where draws vary most. A p-value is the level at
 * which the interval ends at the bound.
 */
export function crossedEstimate(value: number, axes: readonly CrossedAxis[]): CrossedEstimate {
  const reach = axes.length === 0 ? Number.NaN : reachOf(axes, (1 - CONFIDENCE) / 2)
  return {
    estimate: {value, low: value - reach, high: value + reach},
    above: bound => tailOf(value - bound, axes),
    below: bound => tailOf(bound - value, axes),
  }
}

/**
 * A mean over rows and columns that are both drawn. The variances of the means of rows and of the means of columns add up, which
 * counts the rest of each cell twice: too large rather than too small (two-way random effects; A. B. Owen, The pigeonhole bootstrap,
 * Ann. Appl. Stat. 1, 2007, section 3).
 *
 * @param value - the mean
 * @param samples - means along each of the axes; one of a single value adds no variance
 */
export function crossedMean(
  value: number,
  samples: readonly (readonly number[])[],
): CrossedEstimate {
  const axes = samples
    .filter(({length}) => length > 1)
    .map(sample => ({
      error: Math.sqrt(variance(sample) / sample.length),
      degrees: sample.length - 1,
    }))
  return crossedEstimate(value, axes)
}

/** The same of a whole table. @param table - rows of equal length */
export function meanOfTable(table: readonly (readonly number[])[]): CrossedEstimate {
  const rows = table.map(row => mean(row))
  const columns = Array.from(table[0]!, (_, at) => mean(table.map(row => row[at]!)))
  return crossedMean(mean(rows), [rows, columns])
}

/**
 * Ratio of two means over the same rows and columns. The mean of `a - ratio b` gives the interval (linearised: W. G. Cochran,
 * Sampling Techniques, 1977, section 6.4); a bound is tested by the mean of `a - bound b`, without linearisation.
 *
 * @param a - rows of equal length
 * @param b - of the same size
 */
export function ratioOfMeans(
  a: readonly (readonly number[])[],
  b: readonly (readonly number[])[],
): CrossedEstimate {
  const [top, bottom] = [a, b].map(table => mean(table.flat())) as [number, number]
  const ratio = top / bottom
  const less = (bound: number, unit = 1) =>
    a.map((row, at) => row.map((value, column) => (value - bound * b[at]![column]!) / unit))
  const {low, high} = meanOfTable(less(ratio, bottom)).estimate
  return {
    estimate: {value: ratio, low: ratio + low, high: ratio + high},
    above: bound => meanOfTable(less(bound)).above(0),
    below: bound => meanOfTable(less(bound)).below(0),
  }
}

/** How far both ends of an interval are from its centre. @param tail - probability beyond each of them */
function reachOf(axes: readonly CrossedAxis[], tail: number): number {
  return Math.hypot(
    ...axes.map(({error, degrees}) => (error > 0 ? -studentQuantile(tail, degrees) * error : 0)),
  )
}

/** Smallest p-value: tails below have no digits. */
const LEAST = 1e-30

/** Probability of an estimate at least so far above the bound, if that is the truth. */
function tailOf(distance: number, axes: readonly CrossedAxis[]): number {
  if (Number.isNaN(distance) || axes.length === 0) return Number.NaN
  if (distance < 0) return 1 - tailOf(-distance, axes)
  const [only, ...others] = axes.filter(({error}) => error > 0)
  if (!only) return distance > 0 ? 0 : 1
  if (others.length === 0) return studentTail(distance / only.error, only.degrees)
  if (reachOf(axes, LEAST) < distance) return LEAST
  let [low, high] = [Math.log(LEAST), Math.log(0.5)]
  while (high - low > 1e-9) {
    const middle = (low + high) / 2
    if (reachOf(axes, Math.exp(middle)) > distance) low = middle
    else high = middle
  }
  return Math.exp(high)
}
