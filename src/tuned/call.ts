/** Attention with learned parameters. It loads tensors, and is therefore not among what index.js exports. */
import type {attend} from '../attention/index.js'
import {attendCall, attendInputs} from '../attention/internal.js'
import {tf} from '../tf.js'
import {assertShapes, parametersOf} from './fit.js'
import type {TunedFile} from './types.js'

/** Queries and keys with their maps applied, and learned random vectors where there are any. */
interface TunedInputs {
  query: tf.Tensor4D
  key: tf.Tensor4D
  /** `[H, M, D]`, to be passed in place of the name of a projection. */
  projection?: tf.Tensor3D
}

/**
 * What is to be done before attention is called. The tensors that it returns are new, and owned by who calls it.
 *
 * @throws {SHAPE_MISMATCH} for tensors of other heads or another head dimension than the parameters were learned for
 */
export type TunedCall = (query: tf.Tensor4D, key: tf.Tensor4D) => TunedInputs

/**
 * The parameters of a layer, ready for a call.
 *
 * Queries may be `[B, n H, L, D]` and keys `[B, Hkv, S, D]` or `[B, n H, S, D]`, with n copies of all heads one after the other.
 *
 * @param layer - `undefined`: arrays that belong to no layer
 * @param replicate - with learned random vectors the draw of the file; without, the same parameters serve all
 * @throws {ARRAY_MISSING} for a layer, or a draw, that the file does not have
 */
export function tunedCall(
  tuned: TunedFile,
  layer: number | undefined,
  replicate: number,
): TunedCall {
  const {queryMap, keyMap} = parametersOf(tuned, layer, replicate)
  const {heads, keyHeads} = tuned
  return (query, key) => {
    assertShapes(tuned, query.shape, key.shape)
    const projection = learnedProjection(tuned, layer, replicate)
    return {
      query: mapped(query, queryMap, {own: heads, heads}),
      key: mapped(key, keyMap, {own: keyHeads, heads}),
      ...(projection && {projection}),
    }
  }
}

/** The learned random vectors of a draw, `[H, M, D]`, owned by who asks; `undefined`: they were not learned. */
export function learnedProjection(
  tuned: TunedFile,
  layer: number | undefined,
  replicate: number,
): tf.Tensor3D | undefined {
  const {projection} = parametersOf(tuned, layer, replicate)
  const {heads, numFeatures, headDim} = tuned
  return projection && tf.tensor3d(projection, [heads, numFeatures ?? 0, headDim])
}

/** Options of a call, and parameters to call it with. */
type TunedOptions = Parameters<typeof attend>[3] & {
  /** Absent: there are none. */
  tuned?: TunedCall | undefined
}

/**
 * Attention, with parameters where there are any; within `tf.tidy`, as {@link attend} is called.
 *
 * @throws as {@link attend} and {@link TunedCall}
 */
export function attendTuned(
  query: tf.Tensor4D,
  key: tf.Tensor4D,
  value: tf.Tensor4D,
  options: TunedOptions,
): ReturnType<typeof attend> {
  const {estimator, inputs} = tunedInputs(query, key, value, options)
  return attendCall(estimator, inputs)
}

/** What {@link attendTuned} gives an estimator, with the estimator. */
export function tunedInputs(
  query: tf.Tensor4D,
  key: tf.Tensor4D,
  value: tf.Tensor4D,
  {tuned, ...options}: TunedOptions,
): ReturnType<typeof attendInputs> {
  if (!tuned) return attendInputs(query, key, value, options)
  const {query: ownQuery, key: ownKey, projection} = tuned(query, key)
  return attendInputs(ownQuery, ownKey, value, {...options, ...(projection && {projection})})
}

/**
 * Tokens times the map of their head.
 *
 * @param tokens - `[B, h, L, D]`
 * @param map - `[own, D, D]`
 * @param shared.heads - H: where h is not `own`, heads are copies of H heads, which share `own` maps
 */
function mapped(
  tokens: tf.Tensor4D,
  map: Float32Array<ArrayBuffer>,
  {own, heads}: {own: number; heads: number},
): tf.Tensor4D {
  const [, count, , dim] = tokens.shape
  const size = dim * dim
  const each = new Float32Array(count * size)
  for (let head = 0; head < count; head++) {
    const source = count === own ? head : Math.floor(((head % heads) * own) / heads)
    each.set(map.subarray(source * size, (source + 1) * size), head * size)
  }
  return tf.tidy(() => tf.matMul(tokens, tf.tensor4d(each, [1, count, dim, dim])))
}
