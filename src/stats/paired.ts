/** Two methods on the same inputs and draws: how much they differ, and whether by no more than a margin. */
import {expected} from '../errors.js'
import {type Estimate, mapped} from './estimate.js'
import {type SignedRankTest, signedRank} from './signed-rank.js'
import {type StudentTest, studentTest} from './student-test.js'
import {checkPaired, type TestOptions} from './tests.js'

/** How the first values of pairs differ from the second. */
export interface PairedDifference {
  pairs: number
  /** Of their centre, which it estimates (Hodges-Lehmann): needs no more than symmetric differences. */
  signedRank: SignedRankTest
  /** Of their mean: needs differences close to normal, or many. */
  student: StudentTest
}

/** How many times the first values are the second. */
export interface PairedRatio extends PairedDifference {
  /** Of first to second, with its distribution-free interval. */
  ratio: Estimate
  /** Ratio of the geometric means, with the interval of the t test. */
  meanRatio: Estimate
}

/**
 * Differences `a - b` of pairs, by signed ranks and by their mean.
 *
 * @param a - one per pair; the alternative `greater` says that these are
 * @param b - of the same pairs, in the same order and unit
 * @returns `NaN` where a difference is, infinities of one sign twice among them
 * @throws {SHAPE_MISMATCH} for lists of different length
 * @throws {BAD_OPTION} for a confidence that is no probability
 */
export function pairedDifference(
  a: ArrayLike<number>,
  b: ArrayLike<number>,
  options: TestOptions = {},
): PairedDifference {
  checkPaired('paired difference', a, b)
  return tested(
    Float64Array.from(a, (value, at) => value - b[at]!),
    options,
  )
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
  const found = tested(logRatios(a, b), options)
  return {
    ...found,
    ratio: mapped(found.signedRank.estimate, Math.exp),
    meanRatio: mapped(found.student.estimate, Math.exp),
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

function tested(differences: Float64Array, options: TestOptions): PairedDifference {
  return {
    pairs: differences.length,
    signedRank: signedRank(differences, options),
    student: studentTest(differences, options),
  }
}

/** Settings of {@link equivalence}. */
export interface EquivalenceOptions {
  /** The margins: lower and upper end of what counts as equal, in the unit of the differences. */
  low: number
  high: number
  /** Default `signed-rank`; `t` for the mean of differences close to normal. */
  by?: 'signed-rank' | 't'
}

/** What two one-sided tests found. */
export interface Equivalence {
  /** The larger of both: small where the centre lies between the margins. */
  pValue: number
  /** Of the null hypothesis that the centre is at the lower margin or below. */
  aboveLow: number
  /** That it is at the upper margin or above. */
  belowHigh: number
}

/**
 * Two one-sided tests (TOST): is the centre of the differences between the margins? The null hypothesis is that it is at a
 * margin or beyond, so that few data never show equality. Of ratios: {@link logRatios} with logarithms for margins.
 *
 * Source: Schuirmann 1987, "A comparison of the two one-sided tests procedure and the power approach", Journal of
 * Pharmacokinetics and Biopharmaceutics 15, 657-680; by ranks: Wellek 2010, "Testing Statistical Hypotheses of
 * Equivalence and Noninferiority", section 5.4.
 *
 * @param differences - independent
 * @throws {BAD_OPTION} for margins that leave nothing between them
 */
export function equivalence(
  differences: ArrayLike<number>,
  {low, high, by = 'signed-rank'}: EquivalenceOptions,
): Equivalence {
  if (!(low < high)) {
    throw expected('BAD_OPTION', 'equivalence', '`low` below `high`', `${low} and ${high}`)
  }
  const test = by === 't' ? studentTest : signedRank
  const beyond = (margin: number, alternative: 'greater' | 'less') => {
    const shifted = Float64Array.from(differences, value => value - margin)
    return test(shifted, {alternative}).pValue
  }
  const [aboveLow, belowHigh] = [beyond(low, 'greater'), beyond(high, 'less')]
  return {pValue: Math.max(aboveLow, belowHigh), aboveLow, belowHigh}
}
