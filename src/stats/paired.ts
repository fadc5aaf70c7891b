/** Two methods on the same inputs and draws: the ratio of their errors. */
import {expected} from '../errors.js'
import {type Estimate, mapped} from './estimate.js'
import {hodgesLehmann} from './hodges-lehmann.js'
import {checkPaired} from './tests.js'

/**
 * How many times the first values are the second: the centre of the ratios of pairs, with its distribution-free interval.
 *
 * @param a - positive, one per pair
 * @param b - positive, of the same pairs
 * @returns `NaN` where a value is, or two infinite ones meet
 * @throws as {@link logRatios}
 */
export function pairedRatio(a: ArrayLike<number>, b: ArrayLike<number>): Estimate {
  return mapped(hodgesLehmann(logRatios(a, b)), Math.exp)
}

/**
 * Natural logarithms of the ratios `a / b`: errors and times vary by factors, and neither method is favoured by being the
 * denominator.
 *
 * @throws {SHAPE_MISMATCH} for lists of different length
 * @throws {BAD_OPTION} for numbers without logarithm
 */
export function logRatios(a: ArrayLike<number>, b: ArrayLike<number>): Float64Array {
  checkPaired('paired ratio', a, b)
  const logarithm = (which: string, value: number, at: number) => {
    if (!(value <= 0)) return Math.log(value)
    throw expected('BAD_OPTION', `paired ratio, ${which}[${at}]`, 'a positive number', `${value}`)
  }
  return Float64Array.from(a, (value, at) => logarithm('a', value, at) - logarithm('b', b[at]!, at))
}
