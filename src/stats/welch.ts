import {mean, variance} from './descriptive.js'
import {studentQuantile, studentTail} from './distributions.js'
import {noTest, type StudentTest} from './student-test.js'
import {CONFIDENCE, checkShare, pValueOf, type TestOptions} from './tests.js'

/**
 * Welch's t test of the difference of two means, of independent samples, with variances that may differ.
 *
 * Samples that do not vary are their own null distribution: p is 1 where their means are equal, else 0 to that side.
 *
 * Source: Welch 1947, "The generalization of `Student's' problem when several different population variances are involved",
 * Biometrika 34, 28-35; degrees of freedom: Satterthwaite 1946, Biometrics Bulletin 2, 110-114.
 *
 * @param a - independent draws; the alternative `greater` says that their mean is
 * @param b - independent draws
 * @returns the difference of means, a less b, with its interval; `NaN` below two values of either, and when one is not finite
 * @throws {BAD_OPTION} for a confidence that is not a probability
 */
export function welchTest(
  a: ArrayLike<number>,
  b: ArrayLike<number>,
  {alternative = 'two-sided', confidence = CONFIDENCE}: TestOptions = {},
): StudentTest {
  checkShare('Welch test', 'confidence', confidence)
  const value = mean(a) - mean(b)
  const parts = [variance(a) / a.length, variance(b) / b.length] as const
  const standardError = Math.sqrt(parts[0] + parts[1])
  if (Number.isNaN(standardError) || Number.isNaN(value)) return noTest(value)
  const degrees =
    standardError === 0
      ? a.length + b.length - 2
      : (parts[0] + parts[1]) ** 2 /
        (parts[0] ** 2 / (a.length - 1) + parts[1] ** 2 / (b.length - 1))
  const constant = standardError === 0 && value === 0
  const t = constant ? 0 : value / standardError
  const reach = -studentQuantile((1 - confidence) / 2, degrees) * standardError
  return {
    t,
    degrees,
    standardError,
    pValue: constant ? 1 : pValueOf(alternative, studentTail(t, degrees), studentTail(-t, degrees)),
    estimate: {value, low: value - reach, high: value + reach},
  }
}
