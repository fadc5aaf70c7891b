/** Learned parameters of attention: the file of `rfa tune`, and calls with what is in it. */
export {
  assertTunedFits,
  attendTuned,
  type HeadSizes,
  learnedProjection,
  type TunedCall,
  tunedCall,
  tunedInputs,
} from './call.js'
export {readTuned, writeTuned} from './file.js'
export {assertTunedFor, openTuned, tunedSpecOf} from './open.js'
export {type TunedSpec, tunedSpec} from './spec.js'
export {
  hasLearnedRows,
  LEARNED,
  type Learned,
  type Tuned,
  type TunedFile,
  type TunedLayer,
  type TunedParameters,
} from './types.js'
