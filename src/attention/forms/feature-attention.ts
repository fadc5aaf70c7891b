/** Attention with explicit features: sums and guard. */
import {tf} from '../../tf.js'
import {type Guard, guardedRows, normalize} from '../kernels/guard.js'
import {
  type Features,
  formFeatures,
  type LinearAttentionOptions,
  linearAttention,
  linearAttentionRatio,
} from '../kernels/index.js'
import type {AttendResult} from '../types.js'
import type {ReadOptions} from './decoders/sums.js'
import {applyMap, type TokenFeatures} from './decoders/tokens.js'
import type {AttendInputs} from './estimator.js'

/** Features, or recipes for them, and what to do with them. */
export interface FeatureAttention extends LinearAttentionOptions {
  queryFeatures: Features // [B, H, L, F]
  keyFeatures: Features // [B, H, S, F]
  value: tf.Tensor4D // [B, H, S, Dv]
  guard: Guard
  /** Causal only: added to each running sum of key features. Default 0. */
  normalizerEpsilon?: number
}

/** x and y themselves, for forms that need them as tensors. */
export function scaledInputs({
  query,
  key,
  inputScale,
}: Pick<AttendInputs, 'query' | 'key' | 'inputScale'>): {query: tf.Tensor4D; key: tf.Tensor4D} {
  return {query: tf.mul(query, inputScale), key: tf.mul(key, inputScale)}
}

/** {@link featureAttention} of the features that maps give. */
export function mappedAttention(
  {query, key, value, causal, keyMask}: AttendInputs,
  maps: TokenFeatures,
  read: ReadOptions,
): AttendResult {
  const queryFeatures =
    'scaled' in maps.query ? maps.query.scaled(query).features : applyMap(maps.query, query)
  const sums = {queryFeatures, value, causal, keyMask, ...read}
  if (!('scaled' in maps.key)) {
    const keyFeatures = applyMap(maps.key, key)
    return featureAttention({...sums, keyFeatures, keyLogWeight: maps.keyLogWeight?.(key)})
  }
  const {features: keyFeatures, logScale: keyLogWeight} = maps.key.scaled(key)
  return featureAttention({...sums, keyFeatures, keyLogWeight})
}

/** Linear attention with explicit features, guard applied. */
export function featureAttention(inputs: FeatureAttention): AttendResult {
  const {queryFeatures, keyFeatures, value, guard, normalizerEpsilon = 0, ...options} = inputs
  if (!options.causal || normalizerEpsilon === 0) {
    const result = linearAttentionRatio(queryFeatures, keyFeatures, value, guard, options)
    return {
      ...result,
      // few callers look at it, and it costs as much as the division
      get guarded() {
        return guardedRows(result.denominator, guard)
      },
    }
  }
  const sums = linearAttention(queryFeatures, keyFeatures, value, options)
  // phi(q).(z + epsilon 1) = phi(q).z + epsilon sum_s phi(q)_s
  const extra = tf.mul(tf.sum(formFeatures(queryFeatures), -1), normalizerEpsilon) // [B, H, L]
  return normalize({...sums, denominator: tf.add(sums.denominator, extra)}, guard)
}
