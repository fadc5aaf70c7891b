/**
 * What input norms say about kernel error before any feature is drawn: relative variance of one
 * kernel entry, `Var / kernel^2`, at a typical squared norm, as a function of M.
 */

import {logSecondMoment, optimalExponent} from './exponential.js'

/** Which law the relative variance of an estimator follows. */
export type VarianceLaw = 'positive' | 'optimal-positive' | 'hyperbolic' | 'trigonometric'

/** h(u) = e^u - 2 + e^-u, the shared factor of the hyperbolic and trigonometric laws. */
function h(u: number): number {
  return 4 * Math.sinh(u / 2) ** 2
}

/**
 * Relative variance times M: `e^{s} - 1` (positive), `h(s)/2` (hyperbolic) with `s = |x+y|^2`;
 * `h(u)/2` (trigonometric) with `u = |x-y|^2`; optimal positive features have that of the best exponent
 * for s.
 *
 * Source: Choromanski et al. 2021, arXiv:2009.14794, Lemma 2, divided by the squared kernel; Likhosherstov et
 * al. 2022, arXiv:2205.15317.
 */
function unitRelativeVariance(law: VarianceLaw, norms: TypicalNorms): number {
  const {sumNorm2, differenceNorm2, headDim} = norms
  switch (law) {
    case 'positive':
      return Math.expm1(sumNorm2)
    case 'optimal-positive':
      return Math.expm1(logSecondMoment(optimalExponent(sumNorm2 / headDim), headDim, sumNorm2))
    case 'hyperbolic':
      return h(sumNorm2) / 2
    case 'trigonometric':
      return h(differenceNorm2) / 2
  }
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
  const unit = unitRelativeVariance(law, norms)
  return {relativeVariance: unit / numFeatures, neededNumFeatures: Math.max(1, Math.ceil(unit))}
}
