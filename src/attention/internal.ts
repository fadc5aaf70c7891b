/** What experiments of this package use in addition to index.js. It is not public. */
export {attendInputs} from './attention.js'
export {exactOutput, hasExactLoop, hasLoopForm, isCanonicalSoftmax} from './exact.js'
export {
  countingOn,
  footprint,
  leaveUncounted,
  type MeteredBackend,
  plainSeconds,
} from './footprint/index.js'
export {softmaxCost, TRANSCENDENTAL} from './forms/costs.js'
export {extendedDecoder} from './forms/decoders/stateful.js'
export {type AttendInputs, givesRows, type KernelFacts, type RowChoice} from './forms/estimator.js'
export {symmetricEigen} from './forms/exponential/symmetric.js'
export {callNoise, noiseSpecs} from './forms/noise.js'
export {hostData} from './host-data.js'
export {
  type AdamParameter,
  adamStep,
  type DenseActivation,
  dense,
  normalizeRows,
  softmaxCrossEntropy,
} from './kernels/index.js'
export {attendCall, leavesOut, rowWeightsOf} from './present-tokens.js'
export {orthonormalizeRows} from './projections/orthogonal.js'
export {drawnInPlane, planeRows} from './projections/plane.js'
export {projectionTensor} from './projections/tensor.js'
export {drawnTilted, TILTS, tiltedRows} from './projections/tilted.js'
export {drawnTiltedTurned, tiltedTurnedRows} from './projections/tilted-turned.js'
export {drawnTurned, turnedAxes, turnedRows} from './projections/turned.js'
export {
  type ExactOptions,
  exactRows,
  exactTile,
  exactWork,
  type RowTotals,
  rowTotals,
  targetHead,
} from './reference.js'
export {authorLine} from './registering/faults.js'
export {lookAgain} from './registering/features.js'
export {registerEstimators, wholeEstimator} from './registering/register.js'
export type {CalibrationPairs} from './types.js'
