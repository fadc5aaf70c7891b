/** How features are made from tokens, in words: for operations that form them on the way. */
import type {Projection} from '../types.js'
import type {FeatureKind} from './features/index.js'

/** How features are made from tokens. */
export interface FeatureRecipe {
  /** `explicit`: the tokens are the features; `elu-plus-one`: no projection. */
  kind: 'explicit' | 'elu-plus-one' | FeatureKind
  /** `[M, D]` or `[H, M, D]`, for the kinds of `featureMap`. */
  projection?: Projection | undefined
  /** Multiplies tokens before the map. Default 1. */
  inputScale?: number
  /** Divides tokens by their Euclidean norm (plus `normEpsilon`); a zero token stays zero. Default false. */
  unitNorm?: boolean
  /** Default 0. */
  normEpsilon?: number
  /** Multiplies features; not for logarithms. Default 1. */
  featureScale?: number
}

/** A recipe as a fused kernel receives it: its projection comes as an input instead. */
export type RecipeAttributes = Omit<FeatureRecipe, 'projection'>
