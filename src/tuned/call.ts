/** Attention with learned parameters. */
import type {attend} from '../attention/index.js'
import {attendInputs} from '../attention/internal.js'
import {describe, expected} from '../errors.js'
import {tf} from '../tf.js'
import {hasLearnedRows, type TunedFile, type TunedParameters} from './types.js'

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
  return estimator.attend(inputs)
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

function parametersOf(
  tuned: TunedFile,
  layer: number | undefined,
  replicate: number,
): TunedParameters {
  const {path, layers} = tuned
  const found = layers.find(own => own.layer === layer)
  if (!found) throw noLayer(tuned, layer)
  const set = hasLearnedRows(tuned) ? found.sets[replicate] : found.sets[0]
  if (set) return set
  const got = `${found.sets.length}, counted from 0`
  throw expected('ARRAY_MISSING', path, `draw ${replicate}`, got, 'ask for fewer replicates')
}

function noLayer({path, layers}: TunedFile, layer: number | undefined) {
  const own = layers.flatMap(({layer: number}) => number ?? [])
  const got = own.length === 0 ? 'those of no layer' : `those of ${own.join(', ')}`
  if (layer !== undefined) {
    const hint =
      own.length === 0
        ? 'tune again, and say which layer the arrays are with `layer`'
        : `tune layer ${layer}, too, or leave that layer out`
    return expected('ARRAY_MISSING', path, `parameters of layer ${layer}`, got, hint)
  }
  const hint = 'say which layer the arrays are with `layer`'
  return expected('ARRAY_MISSING', path, 'parameters of arrays that belong to no layer', got, hint)
}

/** Heads of queries and keys, and their entries. */
export interface HeadSizes {
  heads: number
  keyHeads: number
  headDim: number
}

/**
 * Refuses parameters that do not fit an input or a model.
 *
 * @throws {SHAPE_MISMATCH} for other heads or another head dimension
 * @throws {ARRAY_MISSING} for a layer that the file does not have
 */
export function assertTunedFits(
  tuned: TunedFile,
  layer: number | undefined,
  {heads, keyHeads, headDim}: HeadSizes,
): void {
  parametersOf(tuned, layer, 0)
  if (heads !== tuned.heads || (keyHeads !== tuned.keyHeads && keyHeads !== heads)) {
    throw otherShapes(tuned, `${heads} of queries and ${keyHeads} of keys`)
  }
  if (headDim !== tuned.headDim) throw otherShapes(tuned, `${headDim} entries`)
}

function assertShapes(tuned: TunedFile, query: readonly number[], key: readonly number[]): void {
  const {heads, keyHeads, headDim} = tuned
  const [queryHeads, ownHeads] = [query[1]!, key[1]!]
  const fit = queryHeads % heads === 0 && (ownHeads === keyHeads || ownHeads === queryHeads)
  if (fit && query[3] === headDim && key[3] === headDim) return
  throw otherShapes(tuned, `queries ${describe(query)} and keys ${describe(key)}`)
}

function otherShapes({path, heads, keyHeads, headDim}: TunedFile, got: string) {
  const own = `${heads} heads of queries and ${keyHeads} of keys, of ${headDim} entries each`
  return expected('SHAPE_MISMATCH', path, own, got, 'tune on queries and keys of this model')
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
