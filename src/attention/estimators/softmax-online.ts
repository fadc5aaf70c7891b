import {z} from 'zod'
import {cacheBytes, softmaxCost} from '../forms/costs.js'
import {keyValueDecoder} from '../forms/decoders/cache.js'
import {defineEstimator, EVERY_FORM} from '../forms/estimator.js'
import {softmaxTarget} from '../forms/targets.js'
import {softmaxAttention} from '../kernels/index.js'

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
  decoder: inputs => keyValueDecoder(inputs, inputs.logitScale),
  presets: {},
})
