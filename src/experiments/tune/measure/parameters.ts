/** What is learned, as tensors, and what it does to queries, keys and random vectors. */
import {tf} from '../../../attention/index.js'
import {type HeadSizes, hasLearnedRows} from '../../../tuned/index.js'
import type {LearnedArray, TuneCell} from '../schema.js'
import {numbersOf} from './problem.js'

/**
 * Tensors that are learned, by name: `temperature` `[Hkv]`, the logarithm of a factor; `query_map` `[H, D, D]`, `key_map`
 * `[Hkv, D, D]`, `projection` `[H, M, D]`.
 */
export type Parameters = Readonly<Record<string, tf.Tensor>>

/** Where learning starts: queries and keys as they are, random vectors as they are drawn. */
export function startOf(
  {learn}: Pick<TuneCell, 'learn'>,
  {heads, keyHeads, headDim}: HeadSizes,
  projection: tf.Tensor | undefined,
): Record<string, tf.Tensor> {
  if (learn === 'temperature') return {temperature: tf.zeros([keyHeads])}
  const maps = learn !== 'rows' && {
    query_map: identities(heads, headDim),
    key_map: identities(keyHeads, headDim),
  }
  const rows = hasLearnedRows({learned: learn}) && projection
  return {...maps, ...(rows && {projection: ofEachHead(rows, heads)})}
}

function identities(heads: number, headDim: number): tf.Tensor {
  return tf.tidy(() => tf.tile(tf.expandDims(tf.eye(headDim), 0), [heads, 1, 1]))
}

function ofEachHead(projection: tf.Tensor, heads: number): tf.Tensor {
  if (projection.rank === 3) return tf.clone(projection)
  return tf.tidy(() => tf.tile(tf.expandDims(projection, 0), [heads, 1, 1]))
}

/** Queries or keys `[B, H, n, D]` as the method gets them. */
export function applied(
  x: tf.Tensor4D,
  side: 'query' | 'key',
  parameters: Parameters,
): tf.Tensor4D {
  const {temperature} = parameters
  const map = parameters[`${side}_map`]
  const mapped = map ? mappedTokens(x, map) : x
  if (!temperature) return mapped
  return tf.mul(mapped, tf.reshape(eachHead(tf.exp(temperature), x.shape[1]), [1, -1, 1, 1]))
}

/** `x A` of every token of a head. @param map - A, `[H or Hkv, D, D]` */
function mappedTokens(x: tf.Tensor4D, map: tf.Tensor): tf.Tensor4D {
  const [batch, heads, length, dim] = x.shape
  const own = eachHead(map, heads)
  const every = tf.broadcastTo(tf.expandDims(own, 0), [batch, heads, dim, dim])
  const [tokens, maps] = [x, every].map(tensor => tf.reshape(tensor, [batch * heads, -1, dim])) as [
    tf.Tensor3D,
    tf.Tensor3D,
  ]
  return tf.reshape(tf.matMul(tokens, maps), [batch, heads, length, dim])
}

/** What key heads have, for each of the heads of queries that they serve: neighbours share one. */
function eachHead(tensor: tf.Tensor, heads: number): tf.Tensor {
  const [own, ...rest] = tensor.shape as [number, ...number[]]
  if (own === heads) return tensor
  const shape = [own, heads / own, ...rest]
  return tf.reshape(tf.broadcastTo(tf.expandDims(tensor, 1), shape), [heads, ...rest])
}

/** What was learned, as files hold it: a temperature is a factor times the identity. */
export function learnedArrays(parameters: Parameters, sizes: HeadSizes): LearnedArray[] {
  const {heads, keyHeads, headDim} = sizes
  const {temperature, query_map, key_map, projection} = parameters
  const maps = (own: number) => {
    const factor = temperature && tf.reshape(eachHead(tf.exp(temperature), own), [-1, 1, 1])
    return factor ? tf.mul(identities(own, headDim), factor) : identities(own, headDim)
  }
  const arrays: LearnedArray[] = []
  tf.tidy(() => {
    arrays.push(arrayOf('query_map', query_map ?? maps(heads)))
    arrays.push(arrayOf('key_map', key_map ?? maps(keyHeads)))
    if (projection) arrays.push(arrayOf('projection', projection))
  })
  return arrays
}

function arrayOf(name: LearnedArray['name'], tensor: tf.Tensor): LearnedArray {
  const values = numbersOf(tensor)
  const bytes = Buffer.from(values.buffer, values.byteOffset, values.byteLength)
  return {name, shape: tensor.shape, data: bytes.toString('base64')}
}
