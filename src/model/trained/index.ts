export {
  type CausalAttention,
  hiddenStates,
  tokenLogits,
  type WeightOf,
} from './forward.js'
export {type Optimiser, type OptimiserState, optimiserOf} from './optimiser.js'
export {type NamedWeight, type SmallModel, startWeights, weightShapes} from './sizes.js'
