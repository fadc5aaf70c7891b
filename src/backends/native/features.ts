/** From feature recipes and tensors to what the addon takes. */
import type {TensorInfo} from '@tensorflow/tfjs-core'
import type {FeatureRecipe} from '../../attention/kernels/feature-spec.js'
import {describe, expected} from '../../errors.js'
import type {Array4, NativeFeatures} from './addon.js'
import {view4} from './kernel.js'
import type {NativeBackend} from './storage.js'

/** A recipe as a fused kernel receives it: its projection comes as an input instead. */
export type RecipeAttributes = Omit<FeatureRecipe, 'projection'>

/**
 * Features made from tokens.
 *
 * @param x - `[B, H, n, D]`; absent in decoders
 * @param projection - `[M, D]` or `[H, M, D]`
 * @param sizes - heads and head dimension that the projection must have
 * @throws {SHAPE_MISMATCH} for a projection of another shape
 */
export function nativeFeatures(
  backend: NativeBackend,
  recipe: RecipeAttributes,
  x: TensorInfo | undefined,
  projection: TensorInfo | undefined,
  sizes: {heads: number; headDim: number},
): NativeFeatures {
  const matrix = projection && projectionView(backend.floats(projection), projection.shape, sizes)
  return featuresOf(backend, recipe, {
    x: x && view4(backend.floats(x), x.shape),
    projection: matrix,
    numFeatures: projection?.shape.at(-2) ?? 0,
  })
}

/** The addon's struct of a recipe, defaults filled in. */
export function featuresOf(
  {addon}: NativeBackend,
  recipe: RecipeAttributes,
  arrays: Pick<NativeFeatures, 'x' | 'projection' | 'numFeatures'>,
): NativeFeatures {
  const {kind, inputScale = 1, featureScale = 1, unitNorm = false, normEpsilon = 0} = recipe
  return {
    ...arrays,
    kind: addon.codes.feature[kind]!,
    inputScale,
    featureScale,
    unitNorm,
    normEpsilon,
  }
}

/** Length of phi. @param columns - columns of the tokens */
export function featureDimOf(
  {kind}: RecipeAttributes,
  columns: number,
  numFeatures: number,
): number {
  if (kind === 'explicit' || kind === 'elu-plus-one') return columns
  return kind === 'trigonometric' || kind === 'log-hyperbolic' ? 2 * numFeatures : numFeatures
}

function projectionView(
  data: Float32Array,
  shape: readonly number[],
  {heads, headDim}: {heads: number; headDim: number},
): Array4 {
  const fits =
    shape.at(-1) === headDim &&
    (shape.length === 2 || (shape.length === 3 && (shape[0] === heads || shape[0] === 1)))
  if (!fits) {
    const wanted = `[M, ${headDim}] or [${heads}, M, ${headDim}]`
    throw expected('SHAPE_MISMATCH', 'projection', wanted, describe([...shape]))
  }
  const [count, rows, columns] = shape.length === 2 ? [1, ...shape] : shape
  return view4(data, [1, count!, rows!, columns!])
}
