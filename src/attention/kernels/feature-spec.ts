/** Features by recipe: what a fused kernel needs to form them itself, tile by tile. */

import {describe, expected} from '../../errors.js'
import {tf} from '../../tf.js'
import type {Projection} from '../types.js'
import {checkRecipe, type FeatureUse} from './feature-checks.js'
import {featureMap, mapInput, scaled} from './feature-map.js'
import {eluPlusOne} from './features/elu.js'
import type {FeatureRecipe, MapScaling, RecipeAttributes} from './recipe.js'

/** A recipe with the tokens to apply it to. */
export interface FeatureSpec extends FeatureRecipe {
  /** `[B, H, n, D]` */
  x: tf.Tensor
}

/** Features as operations take them: ready, or by recipe. */
export type Features = tf.Tensor | FeatureSpec

/** A recipe inside, where its tokens are known to have four axes, or are about to be refused. */
type RankedSpec = FeatureSpec & {x: tf.Tensor4D}

/** A recipe for what is given. @throws {BAD_OPTION} for what is neither tensor nor recipe with tokens */
function toSpec(features: Features): RankedSpec {
  if (features instanceof tf.Tensor) return {kind: 'explicit', x: features as tf.Tensor4D}
  if (features?.x instanceof tf.Tensor) return features as RankedSpec
  const what = 'a tensor, or a recipe with tokens x'
  throw expected('BAD_OPTION', 'features', what, describe(features))
}

/**
 * Recipes for both sides, tokens of one width: fused kernels take no other, so that where features of one side
 * are ready those of the other are formed too.
 *
 * @throws {UNKNOWN_NAME | UNSUPPORTED | BAD_OPTION} for a recipe that the operation has no form for
 */
export function specsOf(
  where: string,
  query: Features,
  key: Features,
  use: FeatureUse,
): [RankedSpec, RankedSpec] {
  const sides: [RankedSpec, RankedSpec] = [toSpec(query), toSpec(key)]
  const [first, second] = sides
  checkRecipe(`${where}.query`, first, use)
  checkRecipe(`${where}.key`, second, use)
  const mixed = (first.kind === 'explicit') !== (second.kind === 'explicit')
  if (!mixed || first.x.shape[3] === second.x.shape[3]) return sides
  const ready = (spec: RankedSpec): RankedSpec =>
    spec.kind === 'explicit' ? spec : {kind: 'explicit', x: formFeatures(spec)}
  return [ready(first), ready(second)]
}

/** The projection of a recipe, for kinds with one. @throws {BAD_OPTION} without it */
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
export function recipeAttributes(recipe: FeatureRecipe): RecipeAttributes {
  projectionOf(recipe)
  return {kind: recipe.kind, ...scalingOf(recipe)}
}

function scalingOf({inputScale, unitNorm, normEpsilon, featureScale}: FeatureRecipe): MapScaling {
  return {
    ...(inputScale !== undefined && {inputScale}),
    ...(unitNorm !== undefined && {unitNorm}),
    ...(normEpsilon !== undefined && {normEpsilon}),
    ...(featureScale !== undefined && {featureScale}),
  }
}

/** The features themselves: the definition of a recipe. @returns `[B, H, n, F]`; logarithms for the `log-` kinds */
export function formFeatures(features: Features): tf.Tensor4D {
  const spec = toSpec(features)
  const {kind, x, featureScale} = spec
  if (kind === 'explicit') return scaled(x, featureScale)
  if (kind === 'elu-plus-one') return scaled(eluPlusOne(mapInput(x, spec)), featureScale)
  return featureMap(x, projectionOf(spec)!, kind, scalingOf(spec))
}
