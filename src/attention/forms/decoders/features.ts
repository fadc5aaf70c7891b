import {tf} from '../../../tf.js'
import {normalize} from '../../kernels/guard.js'
import type {Decoder} from '../../types.js'
import {fusedFeatureDecoder} from './fused.js'
import {statefulDecoder} from './stateful.js'
import {emptySums, type ReadOptions, type Sums} from './sums.js'
import {type DecoderShape, mapKeys, mapTokens, type TokenFeatures} from './tokens.js'

/**
 * Running sums of explicit features, O(F Dv) memory and time for a token:
 * `S <- g S + (1 - g) phi(k) v^T`, `z` likewise (without a gate `S <- S + phi(k) v^T`), then
 * `out = phi(q) S / guard(phi(q).z)`. Defined here in TensorFlow.js operations; a backend's fused step
 * goes before.
 *
 * State: `state` S `[B, H, F, Dv]`, `normalizer` z `[B, H, F]`; with log weights of keys both are
 * multiplied by exp(-logScale), `logScale` `[B, H, 1]` the largest weight so far.
 *
 * Source: Katharopoulos et al. 2020, arXiv:2006.16236, section 3.4; gates: Peng et al. 2021,
 * arXiv:2103.02143, section 3.2.
 */
export function featureDecoder(
  shape: DecoderShape,
  featureDim: number,
  features: TokenFeatures,
  options: ReadOptions,
): Decoder {
  const fused = fusedFeatureDecoder(shape, featureDim, features, options)
  if (fused) return fused
  const {guard, normalizerEpsilon = 0} = options
  const initial = emptySums(shape, featureDim, features)
  return statefulDecoder('LinearDecode', initial, (sums, [query, key, value], gate) => {
    const next = withKey(sums, features, [key, value], gate)
    const reader = mapTokens(features.query, query) // [B, H, 1, F]
    const {state, normalizer} = next
    const readable = normalizerEpsilon === 0 ? normalizer : tf.add(normalizer, normalizerEpsilon)
    const ratio = {
      numerator: tf.matMul(reader, state) as tf.Tensor4D,
      denominator: tf.squeeze(tf.matMul(reader, tf.expandDims(readable, 3)), [3]) as tf.Tensor3D,
    }
    return {state: next, out: normalize(ratio, guard).out}
  })
}

function withKey(
  {state, normalizer, logScale}: Sums,
  features: TokenFeatures,
  [key, value]: [tf.Tensor4D, tf.Tensor4D],
  gate: tf.Tensor3D | undefined,
): Sums {
  const {features: added, logWeight} = mapKeys(features, key)
  let fresh: tf.Tensor = tf.squeeze(added, [2]) // [B, H, F]
  let keep: tf.Tensor = tf.scalar(1)
  let top: tf.Tensor | undefined
  if (logWeight && logScale) {
    // a key's weight e^w may pass the range of floats: both factors are relative to the largest, so at most 1
    top = tf.maximum(logScale, logWeight) // [B, H, 1]
    keep = tf.exp(tf.sub(logScale, top))
    fresh = tf.mul(fresh, tf.exp(tf.sub(logWeight, top)))
  }
  if (gate) {
    keep = tf.mul(keep, gate)
    fresh = tf.mul(fresh, tf.sub(1, gate))
  }
  const perFeature = keep.rank === 0 ? keep : tf.expandDims(keep, 3) // [B, H, 1, 1]
  return {
    state: tf.add(tf.mul(state, perFeature), tf.matMul(tf.expandDims(fresh, 3), value)),
    normalizer: tf.add(tf.mul(normalizer, keep), fresh),
    ...(top && {logScale: top}),
  }
}
