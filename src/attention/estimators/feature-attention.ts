/** What estimators with explicit features share: sums, guard, and the recurrent form. */
import * as tf from '@tensorflow/tfjs-core'
import {normalize} from '../guard.js'
import {type LinearAttentionOptions, linearAttention} from '../kernels/index.js'
import type {AttendResult} from '../types.js'

/** Explicit features and what to do with them. */
export interface FeatureAttention extends LinearAttentionOptions {
  queryFeatures: tf.Tensor4D // [B, H, L, F]
  keyFeatures: tf.Tensor4D // [B, H, S, F]
  value: tf.Tensor4D // [B, H, S, Dv]
  guard: string
  /** Causal only: added to each running sum of key features. Default 0. */
  normalizerEpsilon?: number
}

/** Linear attention with explicit features, guard applied. */
export function featureAttention(inputs: FeatureAttention): AttendResult {
  const {queryFeatures, keyFeatures, value, guard, normalizerEpsilon = 0, ...options} = inputs
  const sums = linearAttention(queryFeatures, keyFeatures, value, options)
  if (!options.causal || normalizerEpsilon === 0) return normalize(sums, guard)
  const extra = tf.mul(tf.sum(queryFeatures, -1), normalizerEpsilon) // [B, H, L]
  return normalize({...sums, denominator: tf.add(sums.denominator, extra)}, guard)
}
