/** Landmarks: means of segments or of cells of a grid, a few vectors that stand for all. */
import {tf} from '../../tf.js'
import {matMul, segmentMeans} from '../kernels/index.js'
import {indicator, presence, reciprocalOrZero} from '../kernels/masking.js'
import type {KeyMask} from '../types.js'

/** Takes the means of its groups of rows: `[B, H, n, D]` to `[B, H, C, D]`. */
type Pool = (x: tf.Tensor4D) => tf.Tensor4D

/** How both sides are pooled into C landmarks each. */
export interface Pools {
  query: Pool
  key: Pool
  /** `[B, C]`, 1 where a landmark stands for some key. Default: all do. */
  present?: tf.Tensor2D
}

/**
 * Where C segments of n rows begin, and where the last one ends: with u = floor(n / C), the first
 * `(u + 1) C - n` have u rows, the others u + 1.
 *
 * @param count - C, at most n
 * @returns C + 1 numbers
 */
export function segmentStarts(length: number, count: number): number[] {
  const short = Math.floor(length / count)
  const shortOnes = (short + 1) * count - length
  return Array.from({length: count + 1}, (_, c) => c * short + Math.max(0, c - shortOnes))
}

/** Pools of segments; with a mask, of the present keys of each batch element. */
export function segmentPools(
  {queryLen, keyLen, count}: {queryLen: number; keyLen: number; count: number},
  keyMask: KeyMask | undefined,
): Pools {
  if (!keyMask) {
    const [queries, keys] = [segmentStarts(queryLen, count), segmentStarts(keyLen, count)]
    return {query: x => segmentMeans(x, queries), key: x => segmentMeans(x, keys)}
  }
  const mask = presence(keyMask)
  const used = tf.minimum(tf.sum(mask, -1, true), count) as tf.Tensor2D // [B, 1]
  const queries = segmentWeights(tf.ones([keyMask.shape[0], queryLen]), used, count)
  const keys = segmentWeights(mask, used, count)
  return {
    query: x => weightedMeans(queries, x),
    key: x => weightedMeans(keys, x),
    present: tf.sub(
      1,
      indicator(tf.sum(keys, -1), sum => tf.equal(sum, 0)),
    ) as tf.Tensor2D,
  }
}

/**
 * Weight of each row in the mean of each segment, where only rows of `mask` count and a batch element
 * has `used [B, 1]` segments. Counting in float32 is exact: quotients of integers below 2^24 round to no
 * integer they do not reach.
 *
 * @param mask - `[B, n]`, 0 or 1
 * @returns `[B, C, n]`; segments beyond `used` are zero
 */
export function segmentWeights(mask: tf.Tensor2D, used: tf.Tensor2D, count: number): tf.Tensor3D {
  const [batch, length] = mask.shape
  const rank = tf.sub(tf.cumsum(mask, 1), mask) // rows before this one
  const rows = tf.sum(mask, -1, true) // [B, 1]
  const short = tf.floor(tf.div(rows, tf.maximum(used, 1)))
  const shortOnes = tf.sub(tf.mul(tf.add(short, 1), used), rows)
  const shortRows = tf.mul(shortOnes, short)
  const isShort = tf.cast(tf.less(rank, shortRows), 'float32')
  const first = tf.floor(tf.div(rank, tf.maximum(short, 1)))
  const later = tf.add(shortOnes, tf.floor(tf.div(tf.sub(rank, shortRows), tf.add(short, 1))))
  const segment = tf.add(tf.mul(isShort, first), tf.mul(tf.sub(1, isShort), later))
  const numbers = tf.reshape(tf.range(0, count), [1, count, 1])
  const same = tf.cast(tf.equal(tf.reshape(segment, [batch, 1, length]), numbers), 'float32')
  return normalised(tf.mul(same, tf.reshape(mask, [batch, 1, length])))
}

/** Rows divided by their sums; zero rows stay zero. */
function normalised(weights: tf.Tensor3D): tf.Tensor3D {
  return tf.mul(weights, reciprocalOrZero(tf.sum(weights, -1, true)))
}

/** Sizes of a grid of tokens, row by row. */
export interface Grid {
  height: number
  width: number
}

/**
 * Pools of the cells of two grids, `side x side` each: cell i of an axis of n tokens spans those from
 * `floor(i n / side)` to `ceil((i + 1) n / side)`, the end excluded; cells may share tokens. With a mask a
 * cell is the mean of its present keys.
 */
export function gridPools(
  {query, key, side}: {query: Grid; key: Grid; side: number},
  keyMask: KeyMask | undefined,
): Pools {
  const queries = cellWeights(query, side)
  const cells = cellWeights(key, side)
  if (!keyMask) return {query: x => weightedMeans(queries, x), key: x => weightedMeans(cells, x)}
  const [batch, keyLen] = keyMask.shape
  const mask = tf.reshape(presence(keyMask), [batch, 1, keyLen])
  const keys = normalised(tf.mul(cells, mask))
  return {
    query: x => weightedMeans(queries, x),
    key: x => weightedMeans(keys, x),
    present: tf.sub(
      1,
      indicator(tf.sum(keys, -1), sum => tf.equal(sum, 0)),
    ) as tf.Tensor2D,
  }
}

/** Weight of each token in the mean of each cell, `[1, side^2, height width]`. */
function cellWeights({height, width}: Grid, side: number): tf.Tensor3D {
  const span = (i: number, length: number) =>
    [Math.floor((i * length) / side), Math.ceil(((i + 1) * length) / side)] as const
  const tokens = height * width
  const weights = new Float32Array(side * side * tokens)
  for (let cell = 0; cell < side * side; cell++) {
    const [top, bottom] = span(Math.floor(cell / side), height)
    const [left, right] = span(cell % side, width)
    const weight = 1 / ((bottom - top) * (right - left))
    for (let row = top; row < bottom; row++) {
      const at = cell * tokens + row * width
      weights.fill(weight, at + left, at + right)
    }
  }
  return tf.tensor3d(weights, [1, side * side, tokens])
}

/** `weights [B or 1, C, n]` times the rows of every head. */
export function weightedMeans(weights: tf.Tensor3D, x: tf.Tensor4D): tf.Tensor4D {
  const [batch, heads, length, dim] = x.shape
  const [sets, count] = weights.shape
  const rows: tf.Tensor3D = tf.reshape(x, [batch * heads, length, dim])
  const perHead = tf.tile(tf.expandDims(weights, 1), [1, heads, 1, 1])
  const matrices: tf.Tensor3D =
    sets === 1 ? weights : tf.reshape(perHead, [batch * heads, count, length])
  return tf.reshape(matMul(matrices, rows), [batch, heads, count, dim])
}
