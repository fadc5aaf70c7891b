import {expected} from '../errors.js'

/** A line through points with known errors. */
interface WeightedLine {
  slope: number
  /** Its standard error, from those of the points alone. */
  slopeError: number
}

/**
 * Weighted least-squares line through independent points with known standard errors.
 *
 * Source: Press et al. 2007, "Numerical Recipes", 3rd edition, eq. 15.2.15 to 15.2.20.
 *
 * @param x - at least two different values
 * @param y - one per x; logarithms, for the exponent of a power law
 * @param errors - standard errors of y, positive; not estimated from the fit
 * @returns `NaN` where a value of y is
 * @throws {SHAPE_MISMATCH} for lists of different length
 * @throws {BAD_OPTION} for errors that are not positive, or fewer than two different x
 */
export function weightedLine(
  x: ArrayLike<number>,
  y: ArrayLike<number>,
  errors: ArrayLike<number>,
): WeightedLine {
  checkPoints(x, y, errors)
  const weights = Float64Array.from(errors, error => error ** -2)
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  const weighted = (values: ArrayLike<number>) =>
    weights.reduce((sum, weight, at) => sum + (weight / total) * values[at]!, 0)
  const [xMean, yMean] = [weighted(x), weighted(y)]
  // eq. 15.2.15: distances to the mean, where sums of squares would cancel
  const distances = Float64Array.from(errors, (error, at) => (x[at]! - xMean) / error)
  const squares = distances.reduce((sum, distance) => sum + distance ** 2, 0)
  const products = distances.reduce((sum, t, at) => sum + (t * (y[at]! - yMean)) / errors[at]!, 0)
  return {slope: products / squares, slopeError: 1 / Math.sqrt(squares)}
}

function checkPoints(x: ArrayLike<number>, y: ArrayLike<number>, errors: ArrayLike<number>): void {
  if (x.length !== y.length || x.length !== errors.length) {
    const got = `${x.length}, ${y.length} and ${errors.length}`
    throw expected('SHAPE_MISMATCH', 'weighted line', 'x, y and errors of equal length', got)
  }
  const wrong = Array.from(errors).findIndex(error => !(error > 0 && Number.isFinite(error)))
  if (wrong >= 0) {
    const where = `weighted line, errors[${wrong}]`
    throw expected('BAD_OPTION', where, 'a positive number', String(errors[wrong]))
  }
  if (new Set(Array.from(x)).size < 2) {
    const got = x.length === 0 ? 'none' : `only one (${x[0]})`
    throw expected('BAD_OPTION', 'weighted line', 'at least two different values of x', got)
  }
}
