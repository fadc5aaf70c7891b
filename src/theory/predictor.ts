/**
 * What input norms say about kernel error before any feature is drawn: relative variance of one
 * kernel entry, `Var / kernel^2`, at a typical squared norm, as a function of M.
 */

import {logSecondMoment, optimalExponent} from './exponential.js'
import {pairedGrowth} from './row-product.js'

/** Which law the relative variance of an estimator follows. */
export type VarianceLaw = 'positive' | 'optimal-positive' | 'hyperbolic' | 'trigonometric'

/**
 * What the relative variance grows with exponentially: `s = |x+y|^2` (positive, hyperbolic),
 * `u = |x-y|^2` (trigonometric), the log second moment at the best exponent for s (optimal positive).
 */
function exponentOf(law: VarianceLaw, {sumNorm2, differenceNorm2, headDim}: TypicalNorms): number {
  switch (law) {
    case 'positive':
    case 'hyperbolic':
      return sumNorm2
    case 'optimal-positive':
      return logSecondMoment(optimalExponent(sumNorm2 / headDim), headDim, sumNorm2)
    case 'trigonometric':
      return differenceNorm2
  }
}

/**
 * Relative variance times M: `e^t - 1` (positive, optimal positive) or `(e^t - 2 + e^-t) / 2`
 * (hyperbolic, trigonometric), t the exponent of the law.
 *
 * Source: Choromanski et al. 2021, arXiv:2009.14794, Lemma 2, divided by the squared kernel; Likhosherstov et
 * al. 2022, arXiv:2205.15317.
 *
 * @returns the number, infinite beyond doubles, and its natural logarithm, finite there too
 */
function unitRelativeVariance(law: VarianceLaw, norms: TypicalNorms): {unit: number; log: number} {
  const exponent = exponentOf(law, norms)
  const paired = law === 'hyperbolic' || law === 'trigonometric'
  const unit = paired ? pairedGrowth(exponent) / 2 : Math.expm1(exponent)
  // beyond doubles, what is left out of the logarithm is far below its last bit
  const log = Number.isFinite(unit) ? Math.log(unit) : exponent - (paired ? Math.LN2 : 0)
  return {unit, log}
}

/** Typical squared norms of the estimator's own inputs. */
export interface TypicalNorms {
  /** |x+y|^2 */
  sumNorm2: number
  /** |x-y|^2 */
  differenceNorm2: number
  /** D */
  headDim: number
}

/** Prediction for one set of norms. */
export interface Prediction {
  relativeVariance: number
  /** Smallest M at which the relative variance is at most 1, a whole number; Infinity when beyond doubles. */
  neededNumFeatures: number
  /** Decimal logarithm of that number, also beyond doubles. */
  neededLog10: number
}

/**
 * Predicts the relative variance of kernel estimates.
 *
 * @param law - the estimator's variance law
 * @param numFeatures - M
 */
export function predictRelativeVariance(
  law: VarianceLaw,
  norms: TypicalNorms,
  numFeatures: number,
): Prediction {
  const {unit, log} = unitRelativeVariance(law, norms)
  const neededNumFeatures = Math.max(1, Math.ceil(unit))
  return {
    relativeVariance: unit / numFeatures,
    neededNumFeatures,
    neededLog10: Number.isFinite(neededNumFeatures)
      ? Math.log10(neededNumFeatures)
      : log / Math.LN10,
  }
}
