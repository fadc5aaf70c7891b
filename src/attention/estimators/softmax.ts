import {z} from 'zod'
import {tf} from '../../tf.js'
import {cacheBytes, softmaxCost} from '../forms/costs.js'
import {keyValueDecoder} from '../forms/decoders/cache.js'
import {type AttendInputs, defineEstimator, EVERY_FORM} from '../forms/estimator.js'
import {softmaxTarget} from '../forms/targets.js'
import {maskedSoftmax, matMul} from '../kernels/index.js'
import type {AttendResult} from '../types.js'

/**
 * Exact softmax attention with the whole L x S matrix of weights in memory.
 *
 * Source: Vaswani et al. 2017, arXiv:1706.03762, eq. 1.
 */
export default defineEstimator({
  name: 'softmax',
  title: 'Exact softmax attention, materialised',
  citation: 'Vaswani et al. 2017, arXiv:1706.03762',
  formula: 'out_i = sum_j softmax_j(beta q_i.k_j) v_j',
  advice: 'The reference. Use it for short sequences; its memory grows with L x S.',
  unbiasedFor: 'exact',
  nonNegative: true,
  rowsSumToOne: true,
  supports: EVERY_FORM,
  keyOrderMatters: false,
  featureDim: () => 0,
  options: z.object({}),
  inputs: () => 'canonical',
  target: softmaxTarget,
  cost: shape => softmaxCost(shape, {tiled: false}),
  stateBytes: ({length, headDim, valueDim}) => cacheBytes(length, headDim, valueDim),
  attend,
  decoder: inputs => keyValueDecoder(inputs, inputs.logitScale),
  presets: {},
})

function attend({query, key, value, inputScale, causal, keyMask}: AttendInputs): AttendResult {
  const [batch, heads, queryLen, headDim] = query.shape
  const keyLen = key.shape[2]
  const rows = batch * heads
  // beta goes to the queries: L D products instead of L S
  const queries: tf.Tensor3D = tf.mul(tf.reshape(query, [rows, queryLen, headDim]), inputScale ** 2)
  const keys: tf.Tensor3D = tf.reshape(key, [rows, keyLen, headDim])
  const values: tf.Tensor3D = tf.reshape(value, [rows, keyLen, value.shape[3]])
  // the whole matrix: O(L S) memory and O(L S (D + Dv)) time
  const logits = matMul(queries, keys, false, true) // [N, L, S]
  const weights = maskedSoftmax(tf.reshape(logits, [batch, heads, queryLen, keyLen]), {
    causal,
    keyMask,
  })
  const out = matMul(tf.reshape(weights, [rows, queryLen, keyLen]), values)
  return {out: tf.reshape(out, [batch, heads, queryLen, value.shape[3]])}
}
