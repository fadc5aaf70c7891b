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
