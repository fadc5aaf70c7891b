/** The attention kernel package: tensors in, tensors out; no files, no terminal, no clock. */
export {tf} from '../tf.js'
export {
  type AttentionOptions,
  attend,
  attention,
  type CallOptions,
  type CommonOptions,
  type DecoderOptions,
  decoder,
  type MethodOptions,
} from './attention.js'
export {
  type Estimators,
  loadEstimators,
  METHOD_NAMES,
  type MethodName,
} from './estimators/index.js'
export {defineEstimator, type Estimator, type FeatureDraw} from './forms/estimator.js'
export {drawNoise, type Noise, type NoiseSpec} from './forms/noise.js'
export {eluPlusOne} from './kernels/features/elu.js'
export {
  causalFeatureAttention,
  type FeatureKind,
  type FeatureRecipe,
  type FeatureSpec,
  type Features,
  featureMap,
  fusedOrComposite,
  type LinearAttentionOptions,
  type LinearAttentionRatio,
  type LinearAttentionResult,
  type LinearState,
  linearAttention,
  linearAttentionRatio,
  type OperationForm,
  recordOperations,
  type SoftmaxAttentionOptions,
  type SoftmaxAttentionResult,
  softmaxAttention,
} from './kernels/index.js'
export {
  drawProjection,
  ORTH_SIGNS,
  type OrthSign,
  PROJECTION_NAMES,
  type ProjectionDefinition,
  type ProjectionName,
  type ProjectionRequest,
  projectionNamed,
  type RowLaw,
} from './projections/index.js'
export {
  parseRedraw,
  type RedrawChoice,
  type RedrawContext,
  type RedrawPolicy,
  redrawChoice,
} from './projections/redraw.js'
export {ProjectionSource, type ProjectionSourceOptions} from './projections/source.js'
export {exactAttention, forEachExactRow, type HostArray} from './reference.js'
export {
  type AttendResult,
  type Calibration,
  type CallShape,
  type Cost,
  type Decoder,
  type ExactTarget,
  type HostParameters,
  type KeyMask,
  type Parameters,
  PRESET_NAMES,
  type PresetName,
  type Projection,
} from './types.js'
