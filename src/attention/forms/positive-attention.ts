/** Attention from logarithms of positive features, exactly: no epsilon, no overflow, no leak. */
import * as tf from '@tensorflow/tfjs-core'
import {causalFeatureAttention, halfSquaredNorm, softmaxAttention} from '../kernels/index.js'
import {finiteLogSums} from '../kernels/masking.js'
import type {Decoder, Projection} from '../types.js'
import {logFeatureDecoder} from './decoders/log-features.js'
import type {AttendInputs, DecoderInputs} from './estimator.js'

/** Tokens and mask, as the bidirectional form takes them. */
export type PositiveInputs = Pick<
  AttendInputs,
  'query' | 'key' | 'value' | 'inputScale' | 'keyMask'
>

/**
 * The ratio estimator of positive features with the given bridge vectors, as a self-normalised
 * mixture: each bridge vector attends to the keys, each query to the bridge vectors. Equal to
 * `sum_j phi(x_i).phi(y_j) v_j / sum_j phi(x_i).phi(y_j)` in exact arithmetic.
 *
 * @param bridges - `[M', D]`, `[H, M', D]` or `[B, H, M', D]`: the rows of W, or of [W; -W] for hyperbolic features
 * @param logWeight - log of each bridge vector's weight, `[B, H, M']`. Default 0.
 * @returns `[B, H, L, Dv]`
 *
 * Source: Zheng, Wang, Kong 2022, arXiv:2204.04667 (reading of random features as importance sampling).
 */
export function positiveAttention(
  inputs: PositiveInputs,
  bridges: Projection | tf.Tensor4D,
  logWeight?: tf.Tensor3D,
): tf.Tensor4D {
  const keyBias = tf.neg(halfSquaredNorm(inputs.key, inputs.inputScale)) as tf.Tensor3D
  return bridgeAttention(inputs, bridges, keyBias, logWeight)
}

/**
 * The same of features `exp(w.x)` of queries and `exp(w.y + keyBias)` of keys.
 *
 * @param keyBias - `[B, H, S]`. Default 0.
 */
export function bridgeAttention(
  {query, key, value, inputScale: scale, keyMask}: PositiveInputs,
  bridges: Projection | tf.Tensor4D,
  keyBias?: tf.Tensor3D,
  logWeight?: tf.Tensor3D,
): tf.Tensor4D {
  const omega = bridgeQueries(bridges)
  const {out: landmarks, lse} = softmaxAttention(omega, key, value, {scale, keyBias, keyMask})
  // a batch element without any key has lse = -Infinity everywhere: its landmarks are zero already
  const logs = keyMask ? finiteLogSums(lse) : lse
  const weighted: tf.Tensor3D = logWeight ? tf.add(logs, logWeight) : logs
  return softmaxAttention(query, omega, landmarks, {scale, keyBias: weighted}).out
}

/** Bridge vectors as queries that batch elements share unless they have their own, `[1 or B, H or 1, M', D]`. */
function bridgeQueries(bridges: Projection | tf.Tensor4D): tf.Tensor4D {
  if (bridges.rank === 4) return bridges as tf.Tensor4D
  const [count, headDim] = bridges.shape.slice(-2) as [number, number]
  return tf.reshape(bridges, [1, bridges.rank === 3 ? bridges.shape[0] : 1, count, headDim])
}

/** The causal form, from log-features of the given kind. */
export function causalPositiveAttention(
  {query, key, value, inputScale, keyMask, projection}: AttendInputs,
  kind: 'log-positive' | 'log-hyperbolic',
): tf.Tensor4D {
  return causalFeatureAttention(
    {kind, x: query, projection, inputScale},
    {kind, x: key, projection, inputScale},
    value,
    keyMask,
  )
}

/** The recurrent form, from log-features of the given kind. */
export function positiveDecoder(
  inputs: DecoderInputs,
  kind: 'log-positive' | 'log-hyperbolic',
): Decoder {
  const {projection, inputScale} = inputs
  const features = {kind, projection, inputScale}
  const numFeatures = projection!.shape.at(-2)!
  const featureDim = kind === 'log-positive' ? numFeatures : 2 * numFeatures
  return logFeatureDecoder(inputs, featureDim, {query: features, key: features})
}
