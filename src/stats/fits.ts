import {expected} from '../errors.js'
import {mean} from './descriptive.js'

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
  if (x.length !== y.length) {
    const what = 'x and y of equal length'
    throw expected('SHAPE_MISMATCH', 'log-log fit', what, `${x.length} and ${y.length}`)
  }
  return fitLine(logarithms('x', x), logarithms('y', y))
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
