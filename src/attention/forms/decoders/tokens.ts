/** What recurrent forms are told beforehand, and how a token becomes features. */
import type * as tf from '@tensorflow/tfjs-core'
import {formFeatures} from '../../kernels/feature-spec.js'
import type {FeatureRecipe} from '../../kernels/recipe.js'

/** Sizes every decoder needs. */
export interface DecoderShape {
  batch: number
  heads: number
  headDim: number
  valueDim: number
}

/** Turns one raw token `[B, H, 1, D]` into features `[B, H, 1, F]`: by recipe, or by a function. */
export type TokenMap = FeatureRecipe | ((token: tf.Tensor4D) => tf.Tensor4D)

/** Features of queries and keys, one token at a time. */
export interface TokenFeatures {
  query: TokenMap
  key: TokenMap
  /** Log of the key's weight, `[B, H, 1]`, where features alone would overflow. Default none. */
  keyLogWeight?: ((token: tf.Tensor4D) => tf.Tensor3D) | undefined
}

/** The features of one token, `[B, H, 1, F]`. */
export function mapToken(map: TokenMap, token: tf.Tensor4D): tf.Tensor4D {
  return typeof map === 'function' ? map(token) : formFeatures({...map, x: token})
}
