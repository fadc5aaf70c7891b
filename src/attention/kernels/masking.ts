/**
 * Masked logits are a large finite number, not -Infinity: it survives subtraction of itself, so no
 * NaN arises in rows or tiles without any key, and such rows are recognised afterwards.
 */
import {tf} from '../../tf.js'
import type {KeyMask} from '../types.js'

/** The logit of a masked key. Adding any logit that float32 attention can produce leaves it as it is. */
export const MASKED = -1e30
/** Log-sums at or below this belong to rows that saw no key. */
const EMPTY = MASKED / 2

/**
 * `[1, rows, columns]`, 1 where column `firstColumn + j` is at or before row `firstRow + i`. Written row by
 * row: a comparison that broadcasts costs more than the attention it is for, where plain JavaScript makes it.
 */
export function causalMask(
  rows: number,
  columns: number,
  firstRow = 0,
  firstColumn = 0,
): tf.Tensor3D {
  const mask = new Float32Array(rows * columns)
  for (let i = 0; i < rows; i++) {
    const seen = Math.min(columns, Math.max(0, firstRow + i + 1 - firstColumn))
    mask.fill(1, i * columns, i * columns + seen)
  }
  return tf.tensor3d(mask, [1, rows, columns])
}

/**
 * Keeps entries where `mask` (broadcast) is 1 and sets the others to {@link MASKED}. By arithmetic, which
 * is exact here: a selecting operation that broadcasts is 40 times slower on tfjs-wasm.
 */
export function maskLogits<T extends tf.Tensor>(logits: T, mask: tf.Tensor): T {
  return tf.add(tf.mul(logits, mask), tf.mul(tf.sub(1, mask), MASKED)) as T
}

/** What `read` makes of x, as a constant for gradients. */
export function constantOf<T extends tf.Tensor>(x: T, read: (x: T) => tf.Tensor): tf.Tensor {
  const {shape} = x
  const constant = tf.customGrad(input => ({
    value: read(input as T),
    gradFunc: () => tf.zeros(shape),
  }))
  return constant(x)
}

/**
 * 1 where `test` holds, else 0, as a constant for gradients: comparisons have no gradient, and TensorFlow.js
 * refuses to differentiate through them.
 *
 * @param test - a comparison of x, of the same shape
 */
export function indicator<T extends tf.Tensor>(x: T, test: (x: T) => tf.Tensor): T {
  return constantOf(x, value => tf.cast(test(value), 'float32')) as T
}

export function reciprocalOrZero<T extends tf.Tensor>(x: T): T {
  const isZero = indicator(x, value => tf.equal(value, 0))
  return tf.div(tf.sub(1, isZero), tf.add(x, isZero)) as T
}

/** A mask as numbers: 1 where it is not zero, else 0; float32, shape kept. */
export function presence<T extends tf.Tensor>(mask: T): T {
  return tf.cast(tf.notEqual(mask, 0), 'float32') as T
}

/** Key mask `[B, S]` repeated for every head: `[B H, 1, S]`. */
export function headMask(keyMask: KeyMask, heads: number): tf.Tensor3D {
  const [batch, keyLen] = keyMask.shape
  const perHead = tf.tile(tf.reshape(presence(keyMask), [batch, 1, keyLen]), [1, heads, 1])
  return tf.reshape(perHead, [batch * heads, 1, keyLen])
}

/** 1 for rows that saw a key, by their log-sum, else 0; shape kept. */
export function sawAnyKey(logSum: tf.Tensor): tf.Tensor {
  return indicator(logSum, value => tf.greater(value, EMPTY))
}

/**
 * Log-sums with -Infinity, of rows that saw no key, replaced by 0, so that they can be added to. Whoever
 * reads them sees to it that those rows count for nothing.
 */
export function finiteLogSums<T extends tf.Tensor>(logSums: T): T {
  const known = constantOf(logSums, value => tf.isFinite(value))
  return tf.where(known, logSums, tf.zerosLike(logSums)) as T
}
