/** What tests share: alternatives and p-values. */
import {expected} from '../errors.js'

/** On which side of the null value the alternative lies. */
export type Alternative = 'greater' | 'less' | 'two-sided'

/** Settings of a test with an interval. */
export interface TestOptions {
  /** Default `two-sided`. */
  alternative?: Alternative
  /** Coverage of the interval, which is two-sided for any alternative; default 0.95. */
  confidence?: number
}

/** Coverage unless said otherwise. */
export const CONFIDENCE = 0.95

/**
 * The p-value of an alternative.
 *
 * @param above - probability, under the null, of the statistic or more
 * @param below - of the statistic or less
 */
export function pValueOf(alternative: Alternative, above: number, below: number): number {
  if (alternative === 'greater') return above
  if (alternative === 'less') return below
  return Math.min(1, 2 * Math.min(above, below))
}

/** @throws {BAD_OPTION} for a probability that is not between 0 and 1, both excluded */
export function checkShare(where: string, what: string, value: number): void {
  if (value > 0 && value < 1) return
  throw expected('BAD_OPTION', `${where}, \`${what}\``, 'a number between 0 and 1', String(value))
}

/** @throws {SHAPE_MISMATCH} for paired values of different number */
export function checkPaired(where: string, a: ArrayLike<number>, b: ArrayLike<number>): void {
  if (a.length === b.length) return
  const what = 'the same number of first and second values'
  throw expected('SHAPE_MISMATCH', where, what, `${a.length} and ${b.length}`)
}
