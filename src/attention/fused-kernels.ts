/**
 * The door for backends: arguments of fused kernels, and checks of their calls, which the operation uses, too.
 */
export {
  checkElements,
  checkNumber,
  checkSizes,
  disposed,
  hasShape,
  MASK_TYPES,
  stepMismatch,
} from './check-tensor.js'
export {
  type AdamAttributes,
  adamCount,
  causalFeatureGradientSizes,
  checkArray,
  checkRows,
  checkSegments,
  type DenseAttributes,
  denseSizes,
  fourAxes,
  given,
  halfSquaredNormAxes,
  type Inputs,
  type MixtureAttributes,
  maskedSoftmaxSizes,
  type NormalizeRowsAttributes,
  normalizeRowsGradientSizes,
  normalizeRowsSizes,
  optimalMixtureSizes,
  type SoftmaxAttributes,
  sampleKeysSizes,
  softmaxAttentionSizes,
} from './kernels/checks.js'
export {
  causalFeatureAttentionSizes,
  checkRecipe,
  featureDimOf,
  featureMapSizes,
  type LinearAttributes,
  linearAttentionSizes,
  type SideAttributes,
} from './kernels/feature-checks.js'
export {checkGuard, type Guard, NO_GUARD} from './kernels/guard.js'
export type {RecipeAttributes} from './kernels/recipe.js'
