/** How many rows a wanted error of one kernel entry needs. */
import {type DependentRows, ratioToIid} from './dependent-rows.js'
import {type RowProduct, relativeRowVariance} from './row-product.js'

/** An estimate, and the error wanted of it. */
export interface ErrorRequest {
  product: RowProduct
  /** D */
  headDim: number
  rows: 'iid' | DependentRows
  /** Root mean squared error over the kernel's value, positive. */
  relativeError: number
}

/**
 * The smallest M with which the relative root mean squared error of an unbiased kernel estimate is at most that wanted.
 *
 * I.i.d. rows: `ceil(v / e^2)`. Dependent rows: at whole blocks the variance falls like 1/M, so that their number is known; within
 * the next block it first rises, where few rows of it cancel nothing yet, and then falls: M D-blocks may be better than
 * one row more, and the smallest M is searched in the last block alone.
 *
 * @returns `Infinity` beyond 2^53 or doubles; with covariances above 0 (even products of antithetic rows) a number that is
 * enough
 */
export function neededFeatures(request: ErrorRequest): number {
  const {product, headDim, rows, relativeError} = request
  const wanted = relativeError ** 2
  const single = relativeRowVariance(product, headDim)
  const independent = Math.max(1, Math.ceil(single / wanted))
  if (rows === 'iid' || independent === 1 || !Number.isSafeInteger(independent)) {
    return Number.isSafeInteger(independent) ? independent : Number.POSITIVE_INFINITY
  }
  const block = rows === 'antithetic' ? 2 : headDim
  const enough = (numFeatures: number) =>
    (single / numFeatures) * ratioToIid(rows, product, {headDim, numFeatures}) <= wanted
  const whole = single * ratioToIid(rows, product, {headDim, numFeatures: block})
  if (!Number.isFinite(whole)) return Number.POSITIVE_INFINITY
  const blocks = Math.max(1, Math.ceil(whole / wanted / block))
  let least = blocks * block
  while (least > (blocks - 1) * block + 1 && enough(least - 1)) least--
  return least
}
