/** What of a variance is nothing but rounding. */
import {FLOAT32_ROUNDOFF} from '../../../theory/rounding.js'
import type {VarianceCell, VarianceResult} from '../schema.js'

/** Square of the float32 rounding error of a sum of F terms that comes to `size`; 0 where that is not finite. */
export function roundingVariance(size: number, featureDim: number): number {
  return Number.isFinite(size) ? (featureDim * FLOAT32_ROUNDOFF * size) ** 2 : 0
}

/** What was seen of a row that does not vary is no more than float32 makes of a sum of that size. */
export function isRounding(
  {withheld, mean, variance}: VarianceResult['per_projection'][number],
  {feature_dim}: VarianceResult,
): boolean {
  if (withheld === null || mean === null || variance === null) return false
  return variance <= roundingVariance(Math.abs(mean), feature_dim)
}

/**
 * Bound on the relative error of the entries of a pair, in doubles: its angle in radians is wrong by two units of
 * roundoff u of at most 2 pi, sine, cosine and their products with the norm by four more, 16 u in all.
 */
const PAIR_ERROR = 2 ** -49

/**
 * The closed form, 0 where it is zero by rounding.
 *
 * Relative variances that can vanish do so with `s = |x+y|^2` or `|x-y|^2`, at most like s. Opposite or equal vectors are so
 * to {@link PAIR_ERROR} times their norm, which leaves an s of at most the square of that.
 */
export function closedFormVariance(
  {norm, key_norm: keyNorm = norm}: VarianceCell,
  {closed_form_variance: variance, expectation}: VarianceResult,
): number | null {
  if (variance === null || expectation === null) return variance
  return Math.abs(variance) <= (expectation * PAIR_ERROR * Math.max(norm, keyNorm)) ** 2
    ? 0
    : variance
}
