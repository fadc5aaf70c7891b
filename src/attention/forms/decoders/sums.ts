/** The state of recurrent forms over features: the same tensors, by the same names, on every backend. */
import {tf} from '../../../tf.js'
import type {Guard} from '../../kernels/guard.js'
import {MASKED} from '../../kernels/masking.js'
import {type DecoderShape, type TokenFeatures, weighsKeys} from './tokens.js'

/** How sums of explicit features are read. */
export interface ReadOptions {
  guard: Guard
  /** Added to each running sum of key features when read. Default 0. */
  normalizerEpsilon?: number
}

/** Sums of explicit features over the keys so far. */
export type Sums = {
  state: tf.Tensor // [B, H, F, Dv]
  normalizer: tf.Tensor // [B, H, F]
  logScale?: tf.Tensor // [B, H, 1]
}

/** The sums before any key; `logScale` only with log weights of keys. */
export function emptySums(
  {batch, heads, valueDim}: DecoderShape,
  featureDim: number,
  features: TokenFeatures,
): Sums {
  return {
    state: tf.zeros([batch, heads, featureDim, valueDim]),
    normalizer: tf.zeros([batch, heads, featureDim]),
    ...(weighsKeys(features) && {logScale: tf.fill([batch, heads, 1], MASKED)}),
  }
}

/** Sums of positive features over the keys so far, those of feature s times exp(-top_s). */
export type LogSums = {
  state: tf.Tensor // [B, H, F, Dv]
  normalizer: tf.Tensor // [B, H, F]
  top: tf.Tensor // [B, H, F]
}

/** The sums before any key. */
export function emptyLogSums({batch, heads, valueDim}: DecoderShape, featureDim: number): LogSums {
  return {
    state: tf.zeros([batch, heads, featureDim, valueDim]),
    normalizer: tf.zeros([batch, heads, featureDim]),
    top: tf.fill([batch, heads, featureDim], MASKED),
  }
}
