import {mean, variance} from './descriptive.js'
import {studentQuantile, studentTail} from './distributions.js'
import type {Estimate} from './estimate.js'
import {CONFIDENCE, checkShare, pValueOf, type TestOptions} from './tests.js'

/** Settings of {@link studentTest}. */
export interface StudentOptions extends TestOptions {
  /** The mean under the null hypothesis; default 0. */
  mean?: number
}

export interface StudentTest {
  t: number
  degrees: number
  /** Of the mean; in the unit of the values. */
  standardError: number
  pValue: number
  /** The mean with its interval. */
  estimate: Estimate
}

/**
 * One-sample t test of the mean. Exact for independent normal values; how far it holds for others is in docs/statistics.md:
 * skewed values need dozens, and means that do not exist have no test.
 *
 * Values that do not vary are their own null distribution: p is 1 where they equal the null value, else as an infinite t has it.
 *
 * Source: Student 1908, "The probable error of a mean", Biometrika 6, 1-25.
 *
 * @param values - independent draws
 * @returns `NaN` below two values and when one is not finite
 * @throws {BAD_OPTION} for a confidence that is not a probability
 */
export function studentTest(
  values: ArrayLike<number>,
  {mean: center = 0, alternative = 'two-sided', confidence = CONFIDENCE}: StudentOptions = {},
): StudentTest {
  checkShare('t test', 'confidence', confidence)
  const value = mean(values)
  const degrees = Math.max(0, values.length - 1)
  const standardError = Math.sqrt(variance(values) / values.length)
  if (Number.isNaN(standardError)) return noTest(value, degrees)
  // nothing varies, and nothing differs
  const constant = standardError === 0 && value === center
  const t = constant ? 0 : (value - center) / standardError
  const reach = -studentQuantile((1 - confidence) / 2, degrees) * standardError
  return {
    t,
    degrees,
    standardError,
    pValue: constant ? 1 : pValueOf(alternative, studentTail(t, degrees), studentTail(-t, degrees)),
    estimate: {value, low: value - reach, high: value + reach},
  }
}

/** What a test found that could not be made. @param value - the mean, or the difference of means */
export function noTest(value: number, degrees = Number.NaN): StudentTest {
  const nothing = Number.NaN
  return {
    t: nothing,
    degrees,
    standardError: nothing,
    pValue: nothing,
    estimate: {value, low: nothing, high: nothing},
  }
}
