import type {TensorInfo} from '@tensorflow/tfjs-core'
import {describe, expected} from '../../../errors.js'
import type {AttentionSizes, LinearAttentionCall} from '../addon.js'
import {featureDimOf, nativeFeatures, type RecipeAttributes} from '../features.js'
import {guardCode} from '../guard.js'
import {checkShape, defineKernel, type KernelCall, required, view3, view4} from '../kernel.js'
import {sizeOf} from '../storage.js'

const NAME = 'LinearAttention'

/** Attributes that the operation's definition gives. */
interface LinearAttentionAttributes {
  query: RecipeAttributes
  key: RecipeAttributes
  causal: boolean
  /** Divide by the denominator under this guard; absent: give numerator and denominator. */
  guard?: string
}

/** Attention with features in linear time, features formed tile by tile; see `linearAttention`. */
export default defineKernel<LinearAttentionAttributes>(NAME, call => {
  const {attrs, backend, addon} = call
  const sides = readSides(NAME, call, attrs)
  const {batch, heads, queryLen, valueDim} = sides.sizes
  const outShape = [batch, heads, queryLen, valueDim]
  const denominatorShape = [batch, heads, queryLen]
  const out = backend.uninitialised(sizeOf(outShape))
  const denominator = backend.uninitialised(sizeOf(denominatorShape))
  const {guard} = attrs
  addon.linearAttention({
    ...sides.sizes,
    query: sides.query,
    key: sides.key,
    value: sides.value,
    keyMask: sides.keyMask,
    ...readExtras(call, sides.sizes, sides.featureDim),
    causal: attrs.causal,
    normalize: guard !== undefined,
    ...guardCode(addon, guard ?? 'none'),
    out: view4(out, outShape),
    denominator: view3(denominator, denominatorShape),
  })
  return [backend.own(out, outShape), backend.own(denominator, denominatorShape)]
})

/**
 * Sizes and features of the two sides, as `LinearAttention` and `CausalFeatureAttention` take them.
 *
 * @throws {SHAPE_MISMATCH} when shapes do not fit together
 */
export function readSides(
  where: string,
  {inputs, backend}: Pick<KernelCall, 'inputs' | 'backend'>,
  recipes: {query: RecipeAttributes; key: RecipeAttributes},
) {
  const queryTokens = required(inputs, 'query')
  const keyTokens = required(inputs, 'key')
  const value = required(inputs, 'value')
  const {keyMask, queryProjection, keyProjection} = inputs
  const [batch, heads, queryLen, headDim] = queryTokens.shape as [number, number, number, number]
  const [, , keyLen, valueDim] = value.shape as [number, number, number, number]
  const sizes: AttentionSizes = {batch, heads, queryLen, keyLen, headDim, valueDim}
  checkShape(where, 'query', queryTokens, [batch, heads, queryLen, headDim])
  checkShape(where, 'key', keyTokens, [batch, heads, keyLen, keyTokens.shape[3] ?? headDim])
  checkShape(where, 'value', value, [batch, heads, keyLen, valueDim])
  if (keyMask) checkShape(where, 'keyMask', keyMask, [batch, keyLen])
  const side = (recipe: RecipeAttributes, x: TensorInfo, projection: TensorInfo | undefined) =>
    nativeFeatures(backend, recipe, x, projection, {heads, headDim})
  const query = side(recipes.query, queryTokens, queryProjection)
  const key = side(recipes.key, keyTokens, keyProjection)
  const featureDim = featureDimOf(recipes.query, headDim, query.numFeatures)
  const keyFeatureDim = featureDimOf(recipes.key, keyTokens.shape[3]!, key.numFeatures)
  if (featureDim !== keyFeatureDim || keyTokens.shape[3] !== headDim) {
    throw expected(
      'SHAPE_MISMATCH',
      where,
      `keys of ${headDim} columns and ${featureDim} features, as queries have`,
      `${describe(keyTokens.shape)} with ${keyFeatureDim} features`,
    )
  }
  return {
    sizes,
    featureDim,
    query,
    key,
    value: view4(backend.floats(value), value.shape),
    keyMask: keyMask && backend.bytes(keyMask),
  }
}

function readExtras(
  {inputs, backend}: Pick<KernelCall, 'inputs' | 'backend'>,
  {batch, heads, keyLen, valueDim}: AttentionSizes,
  featureDim: number,
): Pick<LinearAttentionCall, 'keyLogWeight' | 'logGate' | 'initialState' | 'initialNormalizer'> {
  const read3 = (name: string, length: number) => {
    const tensor = inputs[name]
    if (tensor) checkShape(NAME, name, tensor, [batch, heads, length])
    return tensor && view3(backend.floats(tensor), tensor.shape)
  }
  const {initialState, initialNormalizer} = inputs
  if (initialState) {
    checkShape(NAME, 'initialState', initialState, [batch, heads, featureDim, valueDim])
  }
  if (!initialState !== !initialNormalizer) {
    const got = initialState ? 'the sums alone' : 'the normalizer alone'
    throw expected('SHAPE_MISMATCH', NAME, 'an initial state of sums and normalizer', got)
  }
  return {
    keyLogWeight: read3('keyLogWeight', keyLen),
    logGate: read3('logGate', keyLen),
    initialState: initialState && view4(backend.floats(initialState), initialState.shape),
    initialNormalizer: read3('initialNormalizer', featureDim),
  }
}
