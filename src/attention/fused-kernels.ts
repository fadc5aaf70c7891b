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
  checkArray,
  checkLabels,
  checkRows,
  checkSegments,
  crossEntropyGradientSizes,
  crossEntropySizes,
  cumulativeAxes,
  type DenseAttributes,
  denseGradientSizes,
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
  SOFTMAX_GRADIENTS,
  type SoftmaxAttributes,
  sampleKeysSizes,
  softmaxAttentionGradientSizes,
  softmaxAttentionSizes,
} from './kernels/checks.js'
export {
  CAUSAL_GRADIENTS,
  causalFeatureAttentionSizes,
  causalFeatureGradientSizes,
  checkRecipe,
  featureDimOf,
  featureMapGradientSizes,
  featureMapSizes,
  LINEAR_GRADIENTS,
  type LinearAttributes,
  linearAttentionGradientSizes,
  linearAttentionSizes,
  type SideAttributes,
} from './kernels/feature-checks.js'
export {checkGuard, type Guard, NO_GUARD} from './kernels/guard.js'
export type {RecipeAttributes} from './kernels/recipe.js'
