import {tf} from '../../tf.js'
import {checkObject} from '../check-tensor.js'
import type {KeyMask} from '../types.js'
import {sampleKeysSizes} from './checks.js'
import {fusedOrComposite} from './dispatch.js'
import {causalMask, headMask, indicator, MASKED, maskLogits} from './masking.js'
import {matMul} from './mat-mul.js'

export interface SampleKeysOptions {
  /** Multiplies each q.k. Default 1 (canonical inputs). */
  scale?: number
  /** Query i draws among keys j <= i only. Default false. */
  causal?: boolean
  /** `[B, S]`, nonzero = present. Default: all present. */
  keyMask?: KeyMask | undefined
}

export interface SampledKeys {
  /** Which keys were drawn, `[B, H, L, n]`, int32; 0 for rows that see no key. */
  index: tf.Tensor4D
  /** The keys themselves, `[B, H, L n, D]`: draw s of query i in row i n + s. */
  keys: tf.Tensor4D
}

/** Logits of one tile per head: 2 MiB. */
const TILE = 1 << 19
/** The largest float32 below 1: times a sum, it stays below that sum. */
const BELOW_ONE = 1 - 2 ** -24

/**
 * Draws keys from the softmax distribution of each query, by inversion: with uniform u, the first key at
 * which the cumulated weights exceed u times their sum. No L x S matrix is kept. The choice of a key has
 * no gradient, the chosen key has.
 *
 * @param query - `[B, H, L, D]`
 * @param key - `[B, H, S, D]`
 * @param uniform - n draws per query, `[B, H, L, n]`, in [0, 1]; 1 counts as the float below
 * @throws {SHAPE_MISMATCH | BAD_OPTION} as `softmaxAttention` does
 */
export function sampleKeys(
  query: tf.Tensor4D,
  key: tf.Tensor4D,
  uniform: tf.Tensor4D,
  options: SampleKeysOptions = {},
): SampledKeys {
  checkObject('SampleKeys.options', options)
  const {scale = 1, causal = false, keyMask} = options
  const inputs = {query, key, uniform, keyMask}
  sampleKeysSizes(inputs, {scale, causal})
  const [index, keys] = fusedOrComposite('SampleKeys', inputs, {scale, causal}, () => {
    const drawn = withoutGradient(uniform, () =>
      drawIndices(query, key, uniform, {scale, causal, keyMask}),
    )
    return [drawn, keysAt(key, drawn)]
  })
  return {index: index as tf.Tensor4D, keys: keys as tf.Tensor4D}
}

/** Computes from tensors that a gradient tape may follow as if it did not; `anchor` is one it does not. */
function withoutGradient<T extends tf.Tensor>(anchor: tf.Tensor, body: () => T): T {
  const constant = tf.customGrad(() => ({value: body(), gradFunc: () => tf.zerosLike(anchor)}))
  return constant(anchor) as T
}

function drawIndices(
  query: tf.Tensor4D,
  key: tf.Tensor4D,
  uniform: tf.Tensor4D,
  {
    scale,
    causal,
    keyMask,
  }: Required<Pick<SampleKeysOptions, 'scale' | 'causal'>> & SampleKeysOptions,
): tf.Tensor4D {
  const [batch, heads, queryLen, headDim] = query.shape
  const [, , keyLen] = key.shape
  const draws = uniform.shape[3]
  const rows = batch * heads
  const queries: tf.Tensor3D = tf.reshape(tf.mul(query, scale), [rows, queryLen, headDim])
  const keys: tf.Tensor3D = tf.reshape(key, [rows, keyLen, headDim])
  const uniforms: tf.Tensor3D = tf.reshape(uniform, [rows, queryLen, draws])
  const mask = keyMask && headMask(keyMask, heads)
  const step = Math.max(1, Math.floor(TILE / keyLen))
  const tiles: tf.Tensor3D[] = []
  for (let start = 0; start < queryLen; start += step) {
    const length = Math.min(step, queryLen - start)
    const cut = (tensor: tf.Tensor3D): tf.Tensor3D =>
      tf.slice(tensor, [0, start, 0], [rows, length, tensor.shape[2]])
    let logits = matMul(cut(queries), keys, false, true)
    if (mask) logits = maskLogits(logits, mask)
    if (causal) logits = maskLogits(logits, causalMask(length, keyLen, start))
    tiles.push(invert(logits, cut(uniforms)))
  }
  const all = tiles.length === 1 ? tiles[0]! : tf.concat(tiles, 1)
  return tf.reshape(tf.cast(all, 'int32'), [batch, heads, queryLen, draws])
}

/** Keys at which the cumulated softmax of the rows of `logits [N, l, S]` passes `uniform [N, l, n]`. */
function invert(logits: tf.Tensor3D, uniform: tf.Tensor3D): tf.Tensor3D {
  const [rows, length, draws] = uniform.shape
  const sums = tf.cumsum(tf.softmax(logits), 2)
  // not 1 after rounding; times u < 1 it stays below the last sum, so that every draw finds a key
  const total = tf.max(sums, -1, true)
  const seen = indicator(tf.max(logits, -1, true), top => tf.greater(top, MASKED / 2))
  const columns = Array.from({length: draws}, (_, s) => {
    const u = tf.minimum(tf.slice(uniform, [0, 0, s], [rows, length, 1]), BELOW_ONE)
    const passed = tf.lessEqual(sums, tf.mul(u, total))
    return tf.mul(tf.sum(tf.cast(passed, 'float32'), -1, true), seen) as tf.Tensor3D
  })
  return columns.length === 1 ? columns[0]! : tf.concat(columns, -1)
}

/** Rows of the keys by index `[B, H, L, n]`: `[B, H, L n, D]`. */
function keysAt(key: tf.Tensor4D, index: tf.Tensor4D): tf.Tensor4D {
  const [batch, heads, keyLen, headDim] = key.shape
  const [, , queryLen, draws] = index.shape
  const first = tf.reshape(tf.range(0, batch * heads * keyLen, keyLen, 'int32'), [
    batch,
    heads,
    1,
    1,
  ])
  const rows = tf.reshape(tf.add(index, first), [batch * heads * queryLen * draws])
  const flat = tf.reshape(key, [batch * heads * keyLen, headDim])
  return tf.reshape(tf.gather(flat, tf.cast(rows, 'int32')), [
    batch,
    heads,
    queryLen * draws,
    headDim,
  ])
}
