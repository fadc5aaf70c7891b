/** From feature recipes and tensors to what the addon takes. */
import type {TensorInfo} from '@tensorflow/tfjs-core'
import type {RecipeAttributes} from '../../attention/fused-kernels.js'
import type {Array4, NativeFeatures} from './addon.js'
import {view4} from './kernel.js'
import type {NativeBackend} from './storage.js'

/**
 * Features made from tokens, both checked before.
 *
 * @param x - `[B, H, n, D]`
 * @param projection - `[M, D]` or `[H, M, D]`
 */
export function nativeFeatures(
  backend: NativeBackend,
  recipe: RecipeAttributes,
  x: TensorInfo,
  projection: TensorInfo | undefined,
): NativeFeatures {
  return featuresOf(backend, recipe, {
    x: view4(backend.floats(x), x.shape),
    projection: projection && projectionView(backend.floats(projection), projection.shape),
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

/** `[1, 1 or H, M, D]` */
function projectionView(data: Float32Array, shape: readonly number[]): Array4 {
  const [count, rows, columns] = shape.length === 2 ? [1, ...shape] : shape
  return view4(data, [1, count!, rows!, columns!])
}
