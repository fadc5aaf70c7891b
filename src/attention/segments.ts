/** Segments: runs of neighbouring tokens that are there, and their means. */
import * as tf from '@tensorflow/tfjs-core'
import {matMul} from './kernels/index.js'

/** Who belongs to which segment. Leading axis 1: all batch elements alike. */
export interface Segments {
  /** Weight of each token in the mean of each segment, `[B or 1, m, n]`. */
  weights: tf.Tensor3D
  /** 1 for segments that have a token, `[B or 1, m]`; absent: all have. */
  present?: tf.Tensor2D | undefined
}

/**
 * Cuts the tokens that are there into `count` runs of equal length: with n of them and u = floor(n / m), the first
 * `(u + 1) m - n` runs have u tokens, the others one more. What is not there takes no place.
 *
 * @param count - m
 * @param present - `[B, n]`, 0 or 1. Default: all are there.
 *
 * Source: Xiong et al. 2021, arXiv:2102.03902, section 3.2, as in their code for n not a multiple of m.
 */
export function evenSegments(
  length: number,
  count: number,
  present: tf.Tensor2D | undefined,
): Segments {
  const here = present ?? tf.ones<tf.Rank.R2>([1, length])
  const total = tf.sum(here, 1, true) // [B, 1]
  const rank = tf.sub(tf.cumsum(here, 1), here) // tokens before it, [B, n]
  const short = tf.floor(tf.div(total, count))
  const shortRuns = tf.sub(tf.mul(tf.add(short, 1), count), total)
  const later = tf.sub(rank, tf.mul(shortRuns, short)) // from the first longer run on, not negative
  const isLater = tf.cast(tf.greaterEqual(later, 0), 'float32')
  const early = tf.floor(tf.div(rank, tf.maximum(short, 1)))
  const late = tf.add(shortRuns, tf.floor(tf.div(later, tf.add(short, 1))))
  const segment = tf.add(tf.mul(early, tf.sub(1, isLater)), tf.mul(late, isLater))
  return membersOf(segment as tf.Tensor2D, count, here, present !== undefined || count > length)
}

/** Cuts places, whether a token is there or not, into `count` runs of equal length, a divisor of theirs. */
export function placeSegments(
  length: number,
  count: number,
  present: tf.Tensor2D | undefined,
): Segments {
  const here = present ?? tf.ones<tf.Rank.R2>([1, length])
  const segment = tf.floor(tf.div(tf.range(0, length), length / count))
  return membersOf(tf.reshape(segment, [1, length]), count, here, present !== undefined)
}

function membersOf(
  segment: tf.Tensor2D,
  count: number,
  here: tf.Tensor2D,
  mayBeEmpty: boolean,
): Segments {
  const index = tf.reshape(tf.range(0, count), [1, count, 1])
  const member = tf.mul(
    tf.cast(tf.equal(tf.expandDims(segment, 1), index), 'float32'),
    tf.expandDims(here, 1),
  )
  const sizes = tf.sum(member, -1, true) // [B, m, 1]
  return {
    weights: tf.div(member, tf.maximum(sizes, 1)) as tf.Tensor3D,
    present: mayBeEmpty ? (tf.squeeze(tf.minimum(sizes, 1), [2]) as tf.Tensor2D) : undefined,
  }
}

/**
 * Means of segments; zero for one without tokens.
 *
 * @param x - `[B, H, n, D]`
 * @returns `[B, H, m, D]`
 */
export function segmentMeans(x: tf.Tensor4D, {weights}: Segments): tf.Tensor4D {
  const [batch, heads, length, columns] = x.shape
  const [given, count] = weights.shape
  const rows: tf.Tensor3D = tf.reshape(x, [batch * heads, length, columns])
  const perHead: tf.Tensor3D =
    given === 1
      ? weights
      : tf.reshape(tf.tile(tf.expandDims(weights, 1), [1, heads, 1, 1]), [
          batch * heads,
          count,
          length,
        ])
  return tf.reshape(matMul(perHead, rows), [batch, heads, count, columns])
}
