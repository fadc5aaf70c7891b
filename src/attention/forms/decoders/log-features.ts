import {tf} from '../../../tf.js'
import type {Decoder} from '../../types.js'
import {fusedLogFeatureDecoder} from './fused.js'
import {statefulDecoder} from './stateful.js'
import {emptyLogSums, type LogSums} from './sums.js'
import {type DecoderShape, mapTokens, type TokenFeatures} from './tokens.js'

/**
 * Running sums of positive features given by their logarithms, exact for any norms:
 * `out = sum_s e^{a_s} S_s / sum_s e^{a_s} z_s`, `S_s = sum_j e^{b_js} v_j`, `z_s = sum_j e^{b_js}`.
 *
 * No power is formed directly. Sums are kept times exp(-top_s), top_s the largest b_js so far, so a new key
 * rescales them by a factor of at most 1; a query subtracts the largest of a_s + top_s, which cancels in the
 * ratio and leaves at least one weight 1.
 *
 * State: `state` `[B, H, F, Dv]`, `normalizer` `[B, H, F]`, `top` `[B, H, F]`.
 *
 * @param features - a of queries and b of keys
 *
 * Source: Milakov & Gimelshein 2018, arXiv:1805.02867 (the running maximum), per feature instead of per query.
 */
export function logFeatureDecoder(
  shape: DecoderShape,
  featureDim: number,
  features: Pick<TokenFeatures, 'query' | 'key'>,
): Decoder {
  const fused = fusedLogFeatureDecoder(shape, featureDim, features)
  if (fused) return fused
  const {batch, heads, valueDim} = shape
  const initial = emptyLogSums(shape, featureDim)
  return statefulDecoder('LogFeatureDecode', initial, (sums, [query, key, value]) => {
    const next = withLogKey(sums, mapTokens(features.key, key), value)
    const a = mapTokens(features.query, query) // [B, H, 1, F]
    const logits = tf.add(a, tf.expandDims(next.top, 2))
    const weights = tf.exp(tf.sub(logits, tf.max(logits, -1, true)))
    // numerator and denominator in one product, [B, H, 1, Dv + 1]
    const both = tf.concat([next.state, tf.expandDims(next.normalizer, 3)], 3)
    const ratio = tf.matMul(weights, both)
    const out = tf.div(
      tf.slice(ratio, [0, 0, 0, 0], [batch, heads, 1, valueDim]),
      tf.slice(ratio, [0, 0, 0, valueDim], [batch, heads, 1, 1]),
    ) as tf.Tensor4D
    return {state: next, out}
  })
}

/** The sums with one more key, given by the logarithms of its features `[B, H, 1, F]`. */
export function withLogKey(sums: LogSums, logFeatures: tf.Tensor4D, value: tf.Tensor4D): LogSums {
  const b = tf.squeeze(logFeatures, [2]) // [B, H, F]
  const top = tf.maximum(sums.top, b)
  const keep = tf.exp(tf.sub(sums.top, top))
  const weight = tf.exp(tf.sub(b, top))
  const fresh = tf.matMul(tf.expandDims(weight, 3), value) // [B, H, F, Dv]
  return {
    state: tf.add(tf.mul(sums.state, tf.expandDims(keep, 3)), fresh),
    normalizer: tf.add(tf.mul(sums.normalizer, keep), weight),
    top,
  }
}
