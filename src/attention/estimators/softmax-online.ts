import {z} from 'zod'
import {tf} from '../../tf.js'
import {cacheBytes, softmaxCost} from '../forms/costs.js'
import {keyValueDecoder} from '../forms/decoders/cache.js'
import {type AttendInputs, defineEstimator, EVERY_FORM} from '../forms/estimator.js'
import {softmaxTarget} from '../forms/targets.js'
import {softmaxAttention} from '../kernels/index.js'
import {mergeSoftmax} from '../kernels/merge-softmax.js'

/**
 * Exact softmax attention in tiles with an online softmax: linear memory, same result.
 *
 * Source: Milakov & Gimelshein 2018, arXiv:1805.02867; Rabe & Staats 2021, arXiv:2112.05682.
 */
export default defineEstimator({
  name: 'softmax-online',
  title: 'Exact softmax attention, tiled',
  citation: 'Milakov & Gimelshein 2018, arXiv:1805.02867; Rabe & Staats 2021, arXiv:2112.05682',
  formula: 'out_i = sum_j softmax_j(beta q_i.k_j) v_j, keys folded in tile by tile',
  advice: 'The memory baseline: exact with linear memory. Linear methods must beat this one.',
  unbiasedFor: 'exact',
  nonNegative: true,
  rowsSumToOne: true,
  supports: EVERY_FORM,
  keyOrderMatters: false,
  featureDim: () => 0,
  options: z.object({}),
  inputs: () => 'canonical',
  target: softmaxTarget,
  cost: shape => softmaxCost(shape, {tiled: true}),
  stateBytes: ({length, headDim, valueDim}) => cacheBytes(length, headDim, valueDim),
  attend: ({query, key, value, inputScale, causal, keyMask}) => ({
    out: softmaxAttention(query, key, value, {scale: inputScale ** 2, causal, keyMask}).out,
  }),
  attendEnd: inputs => ({out: lastQueries(inputs)}),
  decoder: inputs => keyValueDecoder(inputs, inputs.logitScale),
  presets: {},
})

/** Keys before that of the first query, of which all queries see all, and the others: as one softmax. */
function lastQueries({query, key, value, inputScale, keyMask}: AttendInputs): tf.Tensor4D {
  const count = query.shape[2]
  const earlier = key.shape[2] - count
  const partOf = (first: number, length: number, causal: boolean) => {
    const rows = (x: tf.Tensor4D): tf.Tensor4D => {
      const [batch, heads, , width] = x.shape
      return tf.slice(x, [0, 0, first, 0], [batch, heads, length, width])
    }
    return softmaxAttention(query, rows(key), rows(value), {
      scale: inputScale ** 2,
      causal,
      keyMask: keyMask && tf.slice(keyMask, [0, first], [keyMask.shape[0], length]),
    })
  }
  return mergeSoftmax(partOf(0, earlier, false), partOf(earlier, count, true)).out
}
