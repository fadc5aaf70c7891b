/** Features by recipe: what a fused kernel needs to form them itself, tile by tile. */
import * as tf from '@tensorflow/tfjs-core'
import {expected} from '../../errors.js'
import {eluPlusOne} from '../features/elu.js'
import type {Projection} from '../types.js'
import {type FeatureKind, featureMap} from './feature-map.js'
import {reciprocalOrZero} from './masking.js'

/** How features are made from tokens. */
export interface FeatureRecipe {
  /** `explicit`: the tokens are the features; `elu-plus-one`: no projection. */
  kind: 'explicit' | 'elu-plus-one' | FeatureKind
  /** `[M, D]` or `[H, M, D]`, for the kinds of {@link featureMap}. */
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

/** A recipe with the tokens to apply it to. */
export interface FeatureSpec extends FeatureRecipe {
  /** `[B, H, n, D]` */
  x: tf.Tensor4D
}

/** Features as operations take them: ready, or by recipe. */
export type Features = tf.Tensor4D | FeatureSpec

/** A recipe for what is given. */
export function toSpec(features: Features): FeatureSpec {
  return features instanceof tf.Tensor ? {kind: 'explicit', x: features} : features
}

/** The projection of a recipe whose kind has one. @throws {BAD_OPTION} without it */
function projectionOf({kind, projection}: FeatureRecipe): Projection | undefined {
  if (kind === 'explicit' || kind === 'elu-plus-one') return undefined
  if (projection) return projection
  throw expected('BAD_OPTION', 'features', `a projection for the kind ${kind}`, 'none')
}

/**
 * A recipe without its tensors, as attributes of a fused kernel.
 *
 * @throws {BAD_OPTION} for a recipe that lacks its projection
 */
export function recipeAttributes(recipe: FeatureRecipe): Omit<FeatureRecipe, 'projection'> {
  projectionOf(recipe)
  const {kind, inputScale, unitNorm, normEpsilon, featureScale} = recipe
  return {
    kind,
    ...(inputScale !== undefined && {inputScale}),
    ...(unitNorm !== undefined && {unitNorm}),
    ...(normEpsilon !== undefined && {normEpsilon}),
    ...(featureScale !== undefined && {featureScale}),
  }
}

/**
 * The features themselves: the definition of a recipe.
 *
 * @returns `[B, H, n, F]`; logarithms for the `log-` kinds
 */
export function formFeatures(features: Features): tf.Tensor4D {
  const spec = toSpec(features)
  const {kind, featureScale = 1} = spec
  if (kind === 'explicit') return scaled(spec.x, featureScale)
  const x = mapInput(spec)
  const plain = kind === 'elu-plus-one' ? eluPlusOne(x) : featureMap(x, projectionOf(spec)!, kind)
  return scaled(plain, featureScale)
}

/** x' of a recipe. */
function mapInput({x, inputScale = 1, unitNorm = false, normEpsilon = 0}: FeatureSpec) {
  if (!unitNorm) return scaled(x, inputScale)
  const length = tf.norm(x, 2, -1, true)
  const padded = normEpsilon === 0 ? length : tf.add(length, normEpsilon)
  return tf.mul(x, tf.mul(reciprocalOrZero(padded), inputScale)) as tf.Tensor4D
}

function scaled(x: tf.Tensor4D, factor: number): tf.Tensor4D {
  return factor === 1 ? x : tf.mul(x, factor)
}
