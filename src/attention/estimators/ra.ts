import {z} from 'zod'
import {tf} from '../../tf.js'
import {cacheBytes, randomizedCost} from '../forms/costs.js'
import {cacheDecoder} from '../forms/decoders/cache.js'
import {
  type AttendInputs,
  type DecoderInputs,
  defineEstimator,
  EVERY_FORM,
} from '../forms/estimator.js'
import type {Noise, NoiseSpec} from '../forms/noise.js'
import {noiseDeviation, noiseScale} from '../forms/options.js'
import {softmaxTarget} from '../forms/targets.js'
import {halfSquaredNorm, sampleKeys, softmaxAttention} from '../kernels/index.js'
import type {Decoder} from '../types.js'

/**
 * Randomized attention: softmax attention as an expectation over random vectors, sampled per query.
 *
 * `out_n = mean_s softmax_m(w_ns.y_m - |y_m|^2/2) V`, `w_ns = x_n + y_m* + e`, `m* ~ softmax_m(x_n.y_m)`,
 * `e ~ N(0, I)`: whole outputs are unbiased for softmax attention, with variance falling as 1/samples.
 * Quadratic: it costs more than what it estimates, and is here as the yardstick of its linear relatives.
 *
 * Source: Zheng, Wang, Kong 2022, arXiv:2204.04667, section 3.
 */
const options = z.object({
  samples: z
    .int()
    .positive()
    .max(4096)
    .default(1)
    .describe('random vectors per query; variance falls as 1/samples'),
  proposal: z
    .enum(['categorical', 'mean-key', 'softmax-mean'])
    .default('categorical')
    .describe(
      'key at the centre: drawn from the softmax row (unbiased), mean of keys, or softmax mean',
    ),
  sampled: z.boolean().default(true).describe('false: no noise around the centre'),
  noiseScale,
})
type Options = z.output<typeof options>

export default defineEstimator({
  name: 'ra',
  title: 'Randomized attention',
  citation: 'Zheng, Wang, Kong 2022, arXiv:2204.04667',
  formula:
    'out_n = mean_s softmax_m(w_s.y_m - |y_m|^2/2) V, w_s = x_n + y_m* + N(0, I), m* ~ softmax(x_n.y_m)',
  advice:
    'An unbiased reference for random-feature methods: it shows the error of sampling alone. Slower than exact attention.',
  unbiasedFor: 'output',
  nonNegative: true,
  rowsSumToOne: true,
  supports: EVERY_FORM,
  // to the draw, not to its distribution
  keyOrderMatters: true,
  featureDim: () => 0,
  options,
  inputs: () => 'canonical',
  target: softmaxTarget,
  noise: ({queryLen, headDim}, options) => noiseOf(queryLen * options.samples, headDim, options),
  cost: (shape, {samples}) => randomizedCost(shape, samples),
  stateBytes: ({length, headDim, valueDim}) => cacheBytes(length, headDim, valueDim),
  attend: inputs => ({out: randomized(inputs)}),
  decoder: randomizedDecoder,
  presets: {
    hku: {
      options: {noiseScale: 'official'},
      quirk:
        'adds unit noise to unscaled queries, that is D^(-1/4) of the noise that makes it unbiased; its evaluation is sampled=false',
    },
  },
})

/** Rows of token t: `t samples` and the ones that follow. */
function noiseOf(
  rows: number,
  headDim: number,
  {proposal, sampled}: Options,
): Record<string, NoiseSpec> {
  return {
    ...(proposal === 'categorical' && {uniform: {distribution: 'uniform', rows, columns: 1}}),
    ...(sampled && {noise: {distribution: 'normal', rows, columns: headDim}}),
  }
}

type Inputs = Pick<
  AttendInputs<Options>,
  'query' | 'key' | 'value' | 'inputScale' | 'causal' | 'keyMask' | 'noise' | 'options'
>

/** `[B, H, L, Dv]` */
function randomized(inputs: Inputs): tf.Tensor4D {
  const {query, key, value, inputScale, causal, keyMask} = inputs
  const [batch, heads, queryLen, headDim] = query.shape
  // xi(y, w) = exp(w.y - |y|^2/2); the factor of the query is shared by its row and cancels
  const keyBias = tf.neg(halfSquaredNorm(key, inputScale)) as tf.Tensor3D
  const vectors = randomVectors(inputs) // [B, H, L, n, D]
  const draws = vectors.shape[3]
  // draws in front: a slice of one of them is a view
  const apart = draws === 1 ? vectors : tf.transpose(vectors, [3, 0, 1, 2, 4])
  const size = vectors.size / draws
  // f_n(w) = softmax_m(w.y_m - |y_m|^2/2) V for one draw of all queries: O(L S (D + Dv)) each
  const outputs = Array.from({length: draws}, (_, draw) => {
    const part = tf.slice(tf.reshape(apart, [vectors.size]), [draw * size], [size])
    const omega: tf.Tensor4D = tf.reshape(part, [batch, heads, queryLen, headDim])
    return softmaxAttention(omega, key, value, {scale: inputScale ** 2, keyBias, causal, keyMask})
      .out
  })
  // with categorical proposals each is unbiased by itself
  const sum = outputs.reduce((total, out) => tf.add(total, out))
  return draws === 1 ? sum : tf.mul(sum, 1 / draws)
}

/** The random vectors of every query, in units of unscaled queries, `[B, H, L, n, D]`. */
function randomVectors(inputs: Inputs): tf.Tensor5D {
  const {query, inputScale, noise, options} = inputs
  const [batch, heads, queryLen, headDim] = query.shape
  const rows = (tensor: tf.Tensor4D): tf.Tensor5D =>
    tf.reshape(tensor, [batch, heads, queryLen, -1, headDim])
  // w = x + y_m* + e, all in units of unscaled queries
  const centred = tf.add(rows(query), centres(inputs)) as tf.Tensor5D
  if (!noise.noise) return centred
  const deviation = noiseDeviation(options.noiseScale, inputScale)
  return tf.add(centred, tf.mul(rows(noise.noise), deviation))
}

/** The key at the centre of each draw, or of all of a query's, `[B, H, L or 1, n or 1, D]`. */
function centres({query, key, inputScale, causal, keyMask, noise, options}: Inputs): tf.Tensor5D {
  const [batch, heads, queryLen, headDim] = query.shape
  const scale = inputScale ** 2
  if (options.proposal === 'categorical') {
    const uniform: tf.Tensor4D = tf.reshape(noise.uniform!, [batch, heads, queryLen, -1])
    // m* ~ softmax_m(x.y_m) by inversion; the keys come with no gradient of their index
    const {keys} = sampleKeys(query, key, uniform, {scale, causal, keyMask})
    return tf.reshape(keys, [batch, heads, queryLen, -1, headDim])
  }
  const softmaxMean = options.proposal === 'softmax-mean'
  // a zero query weights all keys alike; under a causal mask the mean differs by position
  const reader = softmaxMean || causal ? query : tf.zeros<tf.Rank.R4>([1, 1, 1, headDim])
  const {out} = softmaxAttention(reader, key, key, {
    scale: softmaxMean ? scale : 0,
    causal,
    keyMask,
  })
  return tf.reshape(out, [batch, heads, -1, 1, headDim])
}

/** One token at a time: the cache holds what the token sees, its draws are the rows that follow. */
function randomizedDecoder(inputs: DecoderInputs<Options>): Decoder {
  const {inputScale, headDim, noiseRows, options} = inputs
  const specs = Object.entries(noiseOf(options.samples, headDim, options))
  return cacheDecoder('RandomizedDecode', inputs, (query, key, value) => {
    const firstRow = (key.shape[2] - 1) * options.samples
    const noise: Noise = Object.fromEntries(
      specs.map(([name, spec]) => [name, noiseRows(name, spec, firstRow)]),
    )
    return randomized({
      query,
      key,
      value,
      inputScale,
      causal: false,
      keyMask: undefined,
      noise,
      options,
    })
  })
}
