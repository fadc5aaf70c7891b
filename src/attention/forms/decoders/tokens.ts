/** What recurrent forms know beforehand, and how tokens become features. */
import type * as tf from '@tensorflow/tfjs-core'
import {type Features, formFeatures} from '../../kernels/feature-spec.js'
import type {FeatureRecipe} from '../../kernels/recipe.js'

/** Sizes every decoder needs. */
export interface DecoderShape {
  batch: number
  heads: number
  headDim: number
  valueDim: number
  /** Tokens that caches which are written in place have room for from the start. Default: few. */
  capacity?: number | undefined
}

/** Features times `exp(logScale)` are the features meant, which by themselves might overflow. */
export interface ScaledFeatures {
  /** `[B, H, n, F]`, none above 1 in size. */
  features: tf.Tensor4D
  /** `[B, H, n]` */
  logScale: tf.Tensor3D
}

/**
 * Turns raw tokens `[B, H, n, D]` into features `[B, H, n, F]`: by recipe, which fused kernels follow tile by
 * tile, or by a function.
 */
export type TokenMap = FeatureRecipe | ((tokens: tf.Tensor4D) => tf.Tensor4D)

/** The same for features with a scale per token. */
export interface ScaledMap {
  scaled(tokens: tf.Tensor4D): ScaledFeatures
}

/** Features of both sides of a ratio. */
export interface TokenFeatures {
  /** The scale of a query is shared by numerator and denominator: it cancels, and attention does not look at it. */
  query: TokenMap | ScaledMap
  /** The scale of a key is its log weight. */
  key: TokenMap | ScaledMap
  /** Log of each key's weight, `[B, H, n]`, where features alone would overflow. Default none. */
  keyLogWeight?: ((tokens: tf.Tensor4D) => tf.Tensor3D) | undefined
}

export function isRecipe(map: object): map is FeatureRecipe {
  return 'kind' in map
}

export function weighsKeys({key, keyLogWeight}: Pick<TokenFeatures, 'key' | 'keyLogWeight'>) {
  return keyLogWeight !== undefined || 'scaled' in key
}

/** The features of queries, or of keys without their weights, `[B, H, n, F]`. */
export function mapTokens(map: TokenMap | ScaledMap, tokens: tf.Tensor4D): tf.Tensor4D {
  if (typeof map === 'function') return map(tokens)
  return 'scaled' in map ? map.scaled(tokens).features : formFeatures({...map, x: tokens})
}

/** Features of tokens as operations take them: a recipe stays one. */
export function applyMap(map: TokenMap, x: tf.Tensor4D): Features {
  return typeof map === 'function' ? map(x) : {...map, x}
}

/** What keys give to sums. */
export interface KeyFeatures {
  features: tf.Tensor4D // [B, H, n, F]
  logWeight?: tf.Tensor3D | undefined // [B, H, n]
}

export function mapKeys(
  {key, keyLogWeight}: Pick<TokenFeatures, 'key' | 'keyLogWeight'>,
  tokens: tf.Tensor4D,
): KeyFeatures {
  if ('scaled' in key) {
    const {features, logScale} = key.scaled(tokens)
    return {features, logWeight: logScale}
  }
  return {features: mapTokens(key, tokens), logWeight: keyLogWeight?.(tokens)}
}
