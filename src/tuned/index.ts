/** Learned parameters of attention: the file of `rfa tune`. Calls with what is in it: call.js. */
export {readTuned, writeTuned} from './file.js'
export {assertTunedFits, type HeadSizes, type TunedSetting, tunedWarnings} from './fit.js'
export {assertTunedFor, openTuned, tunedSpecOf} from './open.js'
export {type TunedSpec, tunedSpec} from './spec.js'
export {runsInTorch} from './torch.js'
export {
  hasLearnedRows,
  LEARNED,
  type Learned,
  LOSSES,
  type Loss,
  type Tuned,
  type TunedFile,
  type TunedLayer,
  type TunedParameters,
} from './types.js'
