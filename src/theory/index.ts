/**
 * What can be known of random-feature estimates without drawing any: closed forms of variances, of what dependent rows gain, of
 * outputs as ratios, and what follows from them. Numbers in, numbers out; vectors are canonical, `q D^-1/4` and `k D^-1/4` at
 * the ordinary scale.
 *
 * @module rfa/theory
 */
export {type AttentionRow, type RatioMoments, ratioMoments} from './attention-ratio.js'
export {
  type Budget,
  positiveOvertakesAt,
  type SoftmaxMap,
  unitVariance,
} from './crossover.js'
export {
  type BlockShape,
  DEPENDENT_ROWS,
  type DependentRows,
  ratioToIid,
  relativeCovariance,
} from './dependent-rows.js'
export {logRelativeMoment, logSecondMoment, optimalExponent} from './exponential.js'
export {
  arcCosineKernel,
  exponentialKernel,
  exponentialVariance,
  fourierVariance,
  gaussianKernel,
  hyperbolicVariance,
  positiveVariance,
  rectifiedVariance,
  softmaxKernel,
  trigonometricVariance,
} from './kernels.js'
export {averaged, type Moments, varianceStandardError} from './moments.js'
export {type ErrorRequest, neededFeatures} from './needed-features.js'
export {orthogonalBoundRatio} from './orthogonality-bounds.js'
export {
  type Prediction,
  predictRelativeVariance,
  type TypicalNorms,
  type VarianceLaw,
} from './predictor.js'
export {
  differenceProduct,
  type RowProduct,
  relativeRowVariance,
  sumProduct,
} from './row-product.js'
export type {RowTilt} from './row-tilt.js'
export {smregKernel, smregRatio, smregVariance} from './sphere.js'
