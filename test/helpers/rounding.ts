/**
 * Tolerances: the rules of src/check/calls/rounding.ts. The twins in `twins/` carry them through every formula element by
 * element, beside the double-precision value itself.
 */
import {type Comparison, compare} from '../../src/check/calls/rounding.js'

export * from '../../src/check/calls/rounding.js'

/**
 * Asserts {@link compare}.
 *
 * @throws Error that names the worst element, its error and its bound
 */
export function assertWithin(
  label: string,
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
  bound: ArrayLike<number>,
): Comparison {
  const result = compare(actual, expected, bound)
  if (!result.ok) throw new Error(`${label}: ${result.report}`)
  return result
}
