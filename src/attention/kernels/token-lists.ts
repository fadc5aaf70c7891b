/** Tokens gathered by lists of positions, so that each list becomes a batch element. */
import {tf} from '../../tf.js'
import type {KeyMask} from '../types.js'
import {presence} from './masking.js'

/** Lists of positions of one width; -1 where there is no token. */
export interface TokenLists {
  count: number
  width: number
  /** `[count, width]` */
  positions: Int32Array
  /** No list has a gap. */
  full: boolean
}

/** Lists of one width, filled up with -1. */
export function tokenLists(lists: readonly (readonly number[])[]): TokenLists {
  const width = lists.reduce((most, list) => Math.max(most, list.length), 0)
  const positions = new Int32Array(lists.length * width).fill(-1)
  lists.forEach((list, i) => {
    positions.set(list, i * width)
  })
  return {count: lists.length, width, positions, full: !positions.includes(-1)}
}

/**
 * The tokens of every list; an arbitrary one where there is none.
 *
 * @param x - `[B, H, N, n]`
 * @returns `[B H count, 1, width, n]`
 */
export function gatherTokens(x: tf.Tensor4D, lists: TokenLists): tf.Tensor4D {
  const [batch, heads, length, columns] = x.shape
  const shape = [batch * heads * lists.count, 1, lists.width, columns] as const
  const inOrder = lists.count * lists.width === length && lists.positions.every((p, i) => p === i)
  if (inOrder) return tf.reshape(x, [...shape])
  const flat = tf.reshape(x, [batch * heads, length, columns])
  return tf.reshape(tf.gather(flat, indices(lists), 1), [...shape])
}

function indices({positions}: TokenLists): tf.Tensor1D {
  const known = positions.map(p => Math.max(0, p))
  return tf.tensor1d(known, 'int32')
}

/**
 * Which entries of the lists are tokens that are there, `[B or 1, count, width]`; `undefined` when all are.
 *
 * @param keyMask - `[B, N]`
 */
export function presentTokens(
  lists: TokenLists,
  keyMask: KeyMask | undefined,
): tf.Tensor3D | undefined {
  const {count, width, positions, full} = lists
  if (full && !keyMask) return undefined
  const ones = Float32Array.from(positions, p => (p < 0 ? 0 : 1))
  const valid = tf.tensor3d(ones, [1, count, width])
  if (!keyMask) return valid
  const batch = keyMask.shape[0]
  const gathered = tf.reshape(tf.gather(presence(keyMask), indices(lists), 1), [
    batch,
    count,
    width,
  ])
  return (full ? gathered : tf.mul(gathered, valid)) as tf.Tensor3D
}

/** `[B or 1, count, width]` repeated for every head: `[B H count, width]`. */
export function perHead(
  present: tf.Tensor3D,
  {batch, heads}: {batch: number; heads: number},
): tf.Tensor2D {
  const [given, count, width] = present.shape
  const tiled = tf.tile(tf.reshape(present, [given, 1, count, width]), [batch / given, heads, 1, 1])
  return tf.reshape(tiled, [batch * heads * count, width])
}

/** Undoes {@link gatherTokens} of lists that hold every position once: `[B, H, N, n]`. */
export function scatterTokens(
  x: tf.Tensor4D,
  lists: TokenLists,
  [batch, heads, length]: readonly [number, number, number],
): tf.Tensor4D {
  const columns = x.shape[3]
  const places = lists.count * lists.width
  const flat = tf.reshape(x, [batch * heads, places, columns])
  const at = new Int32Array(length)
  lists.positions.forEach((p, place) => {
    if (p >= 0) at[p] = place
  })
  const inOrder = at.every((place, p) => place === p)
  const rows = inOrder
    ? tf.slice(flat, [0, 0, 0], [batch * heads, length, columns])
    : tf.gather(flat, tf.tensor1d(at, 'int32'), 1)
  return tf.reshape(rows, [batch, heads, length, columns])
}
