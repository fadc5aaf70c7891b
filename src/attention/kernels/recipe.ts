/** How features are made from tokens, in words: for operations that form them on the way. */
import type {Projection} from '../types.js'
import type {FeatureKind} from './features/index.js'

/** What is done to tokens before a feature map, and to features after it. */
export interface MapScaling {
  /** Multiplies tokens before the map. Default 1. */
  inputScale?: number | undefined
  /** Divides tokens by their Euclidean norm (plus `normEpsilon`); a zero token stays zero. Default false. */
  unitNorm?: boolean | undefined
  /** Default 0. */
  normEpsilon?: number | undefined
  /** Multiplies features; not for logarithms. Default 1. */
  featureScale?: number | undefined
}

/** How features are made from tokens. */
export interface FeatureRecipe extends MapScaling {
  /** `explicit`: the tokens are the features; `elu-plus-one`: no projection. */
  kind: 'explicit' | 'elu-plus-one' | FeatureKind
  /** `[M, D]` or `[H, M, D]`, for the kinds of `featureMap`. */
  projection?: Projection | undefined
}

/** A recipe as a fused kernel receives it: its projection comes as an input instead. */
export type RecipeAttributes = Omit<FeatureRecipe, 'projection'>
