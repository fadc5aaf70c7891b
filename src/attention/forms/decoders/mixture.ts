import {tf} from '../../../tf.js'
import type {Decoder} from '../../types.js'
import {withLogKey} from './log-features.js'
import {statefulDecoder} from './stateful.js'
import {emptyLogSums} from './sums.js'
import {type DecoderShape, mapTokens, type TokenFeatures} from './tokens.js'

/**
 * Running sums with a running maximum per feature, each feature normalised by itself:
 * `out = sum_s p_s (sum_j e^{b_js} v_j / sum_j e^{b_js})`. State as in {@link logFeatureDecoder}; the
 * maxima cancel in each mean.
 *
 * @param features - p for queries and b, the logarithms, for keys
 */
export function mixtureDecoder(
  shape: DecoderShape,
  featureDim: number,
  features: Pick<TokenFeatures, 'query' | 'key'>,
): Decoder {
  const initial = emptyLogSums(shape, featureDim)
  return statefulDecoder('MixtureDecode', initial, (sums, [query, key, value]) => {
    const next = withLogKey(sums, mapTokens(features.key, key), value)
    const means = tf.div(next.state, tf.expandDims(next.normalizer, 3)) // [B, H, F, Dv]
    return {state: next, out: tf.matMul(mapTokens(features.query, query), means)}
  })
}
