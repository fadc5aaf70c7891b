/** Two methods on the same inputs and draws: how many times the errors of one are those of the other. */
import {expected} from '../errors.js'
import {type Estimate, mapped} from './estimate.js'
import {type SignedRankTest, signedRank} from './signed-rank.js'
import {type StudentTest, studentTest} from './student-test.js'
import {checkPaired, type TestOptions} from './tests.js'

/** How many times the first values are the second. Tests are of the logarithms. */
export interface PairedRatio {
  pairs: number
  /** Of their centre, which it estimates (Hodges-Lehmann): needs no more than symmetric differences. */
  signedRank: SignedRankTest
  /** Of their mean: needs differences close to normal, or many. */
  student: StudentTest
  /** Of first to second, with its distribution-free interval. */
  ratio: Estimate
  /** Ratio of the geometric means, with the interval of the t test. */
  meanRatio: Estimate
}

/**
 * Ratios `a / b` of pairs, as differences of their logarithms: errors and times vary by factors, and neither method is
 * favoured by being the denominator. Estimates and tests but for the ratios are of natural logarithms.
 *
 * @param a - positive, one per pair; the alternative `greater` says that the ratio is above 1
 * @param b - positive, of the same pairs
 * @returns `NaN` where a value is, or two infinite ones meet
 * @throws {SHAPE_MISMATCH} for lists of different length
 * @throws {BAD_OPTION} for numbers without logarithm, or a confidence that is no probability
 */
export function pairedRatio(
  a: ArrayLike<number>,
  b: ArrayLike<number>,
  options: TestOptions = {},
): PairedRatio {
  const differences = logRatios(a, b)
  const ranks = signedRank(differences, options)
  const student = studentTest(differences, options)
  return {
    pairs: differences.length,
    signedRank: ranks,
    student,
    ratio: mapped(ranks.estimate, Math.exp),
    meanRatio: mapped(student.estimate, Math.exp),
  }
}

/**
 * Natural logarithms of the ratios `a / b`, the differences that {@link pairedRatio} tests.
 *
 * @throws as {@link pairedRatio}
 */
export function logRatios(a: ArrayLike<number>, b: ArrayLike<number>): Float64Array {
  checkPaired('paired ratio', a, b)
  const logarithm = (which: string, value: number, at: number) => {
    if (!(value <= 0)) return Math.log(value)
    throw expected('BAD_OPTION', `paired ratio, ${which}[${at}]`, 'a positive number', `${value}`)
  }
  return Float64Array.from(a, (value, at) => logarithm('a', value, at) - logarithm('b', b[at]!, at))
}
