/** Causality by buckets: a query sees the keys of strictly earlier buckets. */
import {tf} from '../../tf.js'
import type {KeyMask} from '../types.js'
import type {AttendInputs} from './estimator.js'

/** The tensors that take part in causality. */
export type Tokens = Pick<AttendInputs, 'query' | 'key' | 'value' | 'keyMask'>

/** Tokens arranged so that plain causality acts on buckets, and the way back. */
export interface Bucketed {
  tokens: Tokens & {keyMask: KeyMask}
  /** Rows of the given queries from a result of the rearranged ones, `[B, H, L', width]` to `[B, H, L, width]`. */
  restore(result: tf.Tensor4D): tf.Tensor4D
}

/**
 * Rearranges tokens, twice as many as before: each bucket becomes the keys of the bucket before it, with
 * blank queries, followed by its own queries, with masked keys.
 *
 * @param bucket - positions per bucket, b: query i sees keys `j < b floor(i / b)`
 */
export function inBuckets({query, key, value, keyMask}: Tokens, bucket: number): Bucketed {
  const [batch, heads, queryLen] = query.shape
  const keyLen = key.shape[2]
  const count = Math.ceil(queryLen / bucket)
  const earlier = (tensor: tf.Tensor4D) =>
    split(fitLength(tensor, (count - 1) * bucket, bucket), count, bucket)
  const present = keyMask ?? tf.ones<tf.Rank.R2>([batch, keyLen])
  const mask = besideBlank(earlier(tf.reshape(present, [batch, 1, keyLen, 1])), 'after')
  const joined = (blocks: tf.Tensor3D): tf.Tensor4D =>
    tf.reshape(blocks, [batch, heads, 2 * count * bucket, blocks.shape[2]])
  return {
    tokens: {
      query: joined(besideBlank(split(fitLength(query, count * bucket), count, bucket), 'before')),
      key: joined(besideBlank(earlier(key), 'after')),
      value: joined(besideBlank(earlier(value), 'after')),
      keyMask: tf.reshape(mask, [batch, 2 * count * bucket]),
    },
    restore: result => {
      const width = result.shape[3]
      const blocks = tf.reshape(result, [batch * heads * count, 2 * bucket, width])
      const own = tf.slice(blocks, [0, bucket, 0], [batch * heads * count, bucket, width])
      const rows: tf.Tensor4D = tf.reshape(own, [batch, heads, count * bucket, width])
      return tf.slice(rows, [0, 0, 0, 0], [batch, heads, queryLen, width])
    },
  }
}

/** The third axis cut or padded with zeros to `length`, after `lead` rows of zeros. */
function fitLength(tensor: tf.Tensor4D, length: number, lead = 0): tf.Tensor4D {
  const [batch, heads, rows, width] = tensor.shape
  const kept = tf.slice(tensor, [0, 0, 0, 0], [batch, heads, Math.min(rows, length), width])
  return tf.pad(kept, [
    [0, 0],
    [0, 0],
    [lead, Math.max(0, length - rows)],
    [0, 0],
  ])
}

/** `[B, H, count b, width]` to `[B H count, b, width]`. */
function split(tensor: tf.Tensor4D, count: number, bucket: number): tf.Tensor3D {
  const [batch, heads, , width] = tensor.shape
  return tf.reshape(tensor, [batch * heads * count, bucket, width])
}

/** Each block with the same number of zero rows, `[.., 2 b, width]`. */
function besideBlank(blocks: tf.Tensor3D, blank: 'before' | 'after'): tf.Tensor3D {
  const zeros = tf.zerosLike(blocks)
  return tf.concat(blank === 'before' ? [zeros, blocks] : [blocks, zeros], 1)
}
