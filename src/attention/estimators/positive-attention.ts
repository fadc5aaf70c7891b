/** Attention from logarithms of positive features, exactly: no epsilon, no overflow, no leak. */
import * as tf from '@tensorflow/tfjs-core'
import {logFeatureDecoder} from '../decoders.js'
import {
  causalFeatureAttention,
  featureMap,
  halfSquaredNorm,
  softmaxAttention,
} from '../kernels/index.js'
import type {AttendInputs, Decoder, DecoderInputs, Projection} from '../types.js'

/**
 * The ratio estimator of positive features with the given bridge vectors, as a self-normalised
 * mixture: each bridge vector attends to the keys, each query to the bridge vectors. Equal to
 * `sum_j phi(x_i).phi(y_j) v_j / sum_j phi(x_i).phi(y_j)` in exact arithmetic.
 *
 * @param bridges - `[M', D]` or `[H, M', D]`: the rows of W, or of [W; -W] for hyperbolic features
 * @returns `[B, H, L, Dv]`
 *
 * Source: Zheng, Wang, Kong 2022, arXiv:2204.04667 (reading of random features as importance sampling).
 */
export function positiveAttention(
  {query, key, value, keyMask}: AttendInputs,
  bridges: Projection,
): tf.Tensor4D {
  const omega = bridgeQueries(bridges, query.shape[0], query.shape[1])
  const keyBias = tf.neg(halfSquaredNorm(key)) as tf.Tensor3D
  const {out: landmarks, lse} = softmaxAttention(omega, key, value, {keyBias, keyMask})
  if (!keyMask) return softmaxAttention(query, omega, landmarks, {keyBias: lse}).out
  // a batch element without any key has lse = -Infinity everywhere: its landmarks are zero already
  const finite = tf.where<tf.Tensor>(tf.isFinite(lse), lse, tf.zerosLike(lse)) as tf.Tensor3D
  return softmaxAttention(query, omega, landmarks, {keyBias: finite}).out
}

/** Bridge vectors as queries, `[B, H, M', D]`. */
function bridgeQueries(bridges: Projection, batch: number, heads: number): tf.Tensor4D {
  const [count, headDim] = bridges.shape.slice(-2) as [number, number]
  const perHead = tf.reshape(bridges, [1, bridges.rank === 3 ? heads : 1, count, headDim])
  return tf.tile(perHead, [batch, bridges.rank === 3 ? 1 : heads, 1, 1]) as tf.Tensor4D
}

/** The causal form, from log-features of the given kind. */
export function causalPositiveAttention(
  {query, key, value, keyMask, projection}: AttendInputs,
  kind: 'log-positive' | 'log-hyperbolic',
): tf.Tensor4D {
  return causalFeatureAttention(
    featureMap(query, projection!, kind),
    featureMap(key, projection!, kind),
    value,
    keyMask,
  )
}

/** The recurrent form, from log-features of the given kind. */
export function positiveDecoder(
  inputs: DecoderInputs,
  kind: 'log-positive' | 'log-hyperbolic',
): Decoder {
  const {projection, logitScale} = inputs
  const features = (token: tf.Tensor4D) =>
    featureMap(tf.mul(token, Math.sqrt(logitScale)), projection!, kind)
  const numFeatures = projection!.shape.at(-2)!
  const featureDim = kind === 'log-positive' ? numFeatures : 2 * numFeatures
  return logFeatureDecoder(inputs, featureDim, {query: features, key: features})
}
