/**
 * The attention kernel package: tensors in, tensors out; no files, no terminal, no clock.
 *
 * @module rfa/attention
 */
export {z} from 'zod'
export {tf} from '../tf.js'
export {averaged, type Moments} from '../theory/moments.js'
export {
  type AnyMethod,
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
  methodNames,
} from './estimators/index.js'
export {
  type AttendInputs,
  type DecoderInputs,
  defineEstimator,
  type Estimator,
  EVERY_FORM,
  type FeatureDraw,
  type KernelFacts,
  type MomentDraw,
  type Preset,
  type PythonFile,
  type RowChoice,
  type Supports,
} from './forms/estimator.js'
export type {
  FeatureMap,
  MakeInputs,
  Phi,
  PhiFacts,
  PhiInputs,
} from './forms/feature-map.js'
export {drawNoise, type Noise, type NoiseSpec} from './forms/noise.js'
export {GUARDS_IDLE, guardOptions} from './forms/options.js'
export {eluPlusOne} from './kernels/features/elu.js'
export {
  causalFeatureAttention,
  type FeatureKind,
  type FeatureRecipe,
  type FeatureSpec,
  type Features,
  featureMap,
  fusedOrComposite,
  type Gradient,
  type LinearAttentionOptions,
  type LinearAttentionRatio,
  type LinearAttentionResult,
  type LinearState,
  linearAttention,
  linearAttentionRatio,
  type MapScaling,
  type OperationForm,
  project,
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
export * from './registered.js'
export {defineFeatureMap} from './registering/define.js'
export {registerEstimator} from './registering/register.js'
export {
  type AttendResult,
  type Calibration,
  type CalibrationPairs,
  type CallShape,
  type Cost,
  type Decoder,
  type ExactTarget,
  type HostParameters,
  type InputSpace,
  type KeyMask,
  type Parameters,
  PRESET_NAMES,
  type PresetName,
  type Projection,
} from './types.js'
