import {normalQuantile} from '../../stats/normal.js'

/**
 * The standard normal quantile of `(cell + offset) / cells`, accurate in both tails.
 *
 * @param cell - whole number in [0, cells)
 * @param offset - in (0, 1): where in the cell
 * @param cells - at most 2^53
 */
export function quasiNormal(cell: number, offset: number, cells: number): number {
  if (cell < cells / 2) return normalQuantile((cell + offset) / cells)
  return -normalQuantile((cells - cell - offset) / cells)
}

/** A uniform number that is never 0. */
export function offsetOf(stream: {uniform(): number}): number {
  return Math.max(stream.uniform(), 2 ** -54)
}

/** The cell that {@link quasiNormal} makes a number of. @param cells - at most 2^53 */
export function normalCell(value: number, cells: number): number {
  const tail = Math.min(Math.floor(normalTail(Math.abs(value)) * cells), Math.ceil(cells / 2) - 1)
  return value < 0 ? tail : cells - 1 - tail
}

/** Terms of the continued fraction, and the argument from which they make a relative error below 1e-13. */
const [TERMS, FAR] = [120, 2.5]

/**
 * Probability that a normal number is above x, relative accuracy about 1e-13.
 *
 * Source: Abramowitz & Stegun 1964, 26.2.11 (series) and 26.2.14 (continued fraction).
 *
 * @param x - at least 0
 */
export function normalTail(x: number): number {
  const density = Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI)
  if (x >= FAR) {
    let rest = x
    for (let k = TERMS; k >= 1; k--) rest = x + k / rest
    return density / rest
  }
  let [term, sum] = [x, x]
  for (let k = 3; term > 1e-17 * sum; k += 2) {
    term *= (x * x) / k
    sum += term
  }
  return 0.5 - density * sum
}
