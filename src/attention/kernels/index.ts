export {type AdamParameter, adamStep} from './adam-step.js'
export {causalFeatureAttention} from './causal-feature-attention.js'
export type {DenseActivation} from './checks.js'
export {softmaxCrossEntropy} from './cross-entropy.js'
export {dense} from './dense.js'
export {fusedOrComposite, type Gradient, type OperationForm, recordOperations} from './dispatch.js'
export {featureMap, halfSquaredNorm, project} from './feature-map.js'
export {type FeatureSpec, type Features, formFeatures} from './feature-spec.js'
export type {FeatureKind} from './features/index.js'
export {
  type LinearAttentionOptions,
  type LinearAttentionRatio,
  type LinearAttentionResult,
  type LinearState,
  linearAttention,
  linearAttentionRatio,
} from './linear-attention.js'
export {maskedSoftmax} from './masked-softmax.js'
export {headMask, maskLogits} from './masking.js'
export {matMul} from './mat-mul.js'
export {normalizeRows} from './normalize-rows.js'
export type {FeatureRecipe, MapScaling} from './recipe.js'
export {sampleKeys} from './sample-keys.js'
export {segmentMeans} from './segment-means.js'
export {
  type SoftmaxAttentionOptions,
  type SoftmaxAttentionResult,
  softmaxAttention,
} from './softmax-attention.js'
