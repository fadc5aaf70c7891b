/** Recurrent forms that keep every key and value: O(t) memory and time for the token at t. */
import {tf} from '../../../tf.js'
import type {Decoder} from '../../types.js'
import {fusedKeyValueDecoder} from './fused-cache.js'
import {statefulDecoder} from './stateful.js'
import type {DecoderShape} from './tokens.js'

/** Exact attention over a growing cache of keys and values. @param logitScale - multiplies q.k */
export function keyValueDecoder(shape: DecoderShape, logitScale: number): Decoder {
  const fused = fusedKeyValueDecoder(shape, logitScale)
  if (fused) return fused
  return cacheDecoder('CacheDecode', shape, (query, keys, values) => {
    const weights = tf.softmax(tf.mul(tf.matMul(query, keys, false, true), logitScale))
    return tf.matMul(weights, values)
  })
}

/** What a query reads from keys and values so far, `[B, H, t, D]` and `[B, H, t, Dv]`: `[B, H, 1, Dv]`. */
export type CacheReader = (
  query: tf.Tensor4D,
  keys: tf.Tensor4D,
  values: tf.Tensor4D,
) => tf.Tensor4D

/**
 * Keys and values so far, the new token's included, read by a function. State: `key` `[B, H, t, D]` and
 * `value` `[B, H, t, Dv]`.
 *
 * @param operation - its name in records
 */
export function cacheDecoder(
  operation: string,
  {batch, heads, headDim, valueDim}: DecoderShape,
  read: CacheReader,
): Decoder {
  const initial = {
    key: tf.zeros<tf.Rank.R4>([batch, heads, 0, headDim]),
    value: tf.zeros<tf.Rank.R4>([batch, heads, 0, valueDim]),
  }
  return statefulDecoder(operation, initial, (state, [query, key, value]) => {
    const keys = appendToken(state.key, key)
    const values = appendToken(state.value, value)
    return {state: {key: keys, value: values}, out: read(query, keys, values)}
  })
}

/** A token after those so far. */
export function appendToken(cache: tf.Tensor4D, token: tf.Tensor4D): tf.Tensor4D {
  return cache.shape[2] === 0 ? tf.clone(token) : tf.concat([cache, token], 2)
}
