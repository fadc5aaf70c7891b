export {
  type CausalAttention,
  hiddenStates,
  tokenLogits,
  type WeightOf,
} from './forward.js'
export {type Optimiser, optimiserOf} from './optimiser.js'
export {type NamedWeight, type SmallModel, startWeights, weightShapes} from './sizes.js'
