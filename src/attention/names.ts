/**
 * The light door of the kernel package: names, facts and options, without loading TensorFlow.js. Help, flags
 * and plans start from here; estimators load when asked for.
 */
export {
  loadEstimators,
  METHOD_NAMES,
  type MethodName,
  methodNames,
  otherNames,
  unknownMethod,
} from './estimators/index.js'
export {supportsOf} from './forms/estimator.js'
export {
  ORTH_SIGNS,
  type OrthSign,
  PROJECTION_NAMES,
  type ProjectionName,
  projectionNamed,
  type RowLaw,
} from './projections/index.js'
export {parseRedraw, REDRAW_FORMS} from './projections/redraw.js'
export {estimatorNamed, resolveOptions, usesProjection} from './resolve.js'
export {CAUSAL_ALIGNS, type CausalAlign, PRESET_NAMES, type PresetName} from './types.js'
