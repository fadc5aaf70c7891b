import {z} from 'zod'
import {tf} from '../../tf.js'
import {inBuckets, type Tokens} from '../forms/buckets.js'
import {featureStateBytes, TRANSCENDENTAL} from '../forms/costs.js'
import {mixtureDecoder} from '../forms/decoders/mixture.js'
import type {AttendInputs, DecoderInputs} from '../forms/estimator.js'
import {defineFeatureMap} from '../forms/feature-map.js'
import {normalizerEpsilon} from '../forms/options.js'
import {cumulativeLogSumExp} from '../kernels/cumulative-log-sum-exp.js'
import {denominatorGuard} from '../kernels/guard.js'
import {causalFeatureAttention, headMask, matMul} from '../kernels/index.js'
import {indicator, MASKED, maskLogits, sawAnyKey} from '../kernels/masking.js'
import type {AttendResult, CallShape, Cost, Decoder} from '../types.js'

/**
 * Efficient attention: a softmax of each query over its channels mixes, for each channel of the keys, the
 * softmax-weighted mean of the values. No random features, no scale on queries and keys.
 *
 * `out_i = sum_s softmax_d(q_i)_s sum_j softmax_j(k_.s)_j v_j`. The causal form takes the softmax over
 * the keys so far: row i is the bidirectional form on the tokens up to i. Keys are never exponentiated
 * as they are, so nothing overflows.
 *
 * Source: Shen et al. 2021, arXiv:1812.01243, section 3.2.
 */
const options = z.object({
  causalNormalizer: z
    .enum(['feature', 'joint'])
    .default('feature')
    .describe(
      'causal only: feature normalises each channel of the keys over the past, as the bidirectional form does over all keys; joint divides by the sum of all weights',
    ),
  queryScale: z
    .enum(['none', 'rsqrt-head-dim'])
    .default('none')
    .describe('factor on query features: the bidirectional rows sum to it'),
  bucket: z
    .int()
    .positive()
    .default(1)
    .describe(
      'causal only: above 1, a position sees the keys of strictly earlier buckets of this length',
    ),
  normalizerEpsilon,
  causalDenGuard: denominatorGuard
    .default('none')
    .describe('guard on the denominator of the joint causal form'),
})
type Options = z.output<typeof options>

// its attention is none with its features
const {
  features: _,
  parts: _parts,
  rowWeights: _rowWeights,
  ...map
} = defineFeatureMap({
  name: 'efficient',
  title: 'Efficient attention (softmax features)',
  citation: 'Shen et al. 2021, arXiv:1812.01243',
  formula: 'out = softmax_d(Q) (softmax_n(K)^T V)',
  advice:
    'A zero-variance linear form with weights that sum to one. Only for models trained with it: the weight of a key does not depend on the query.',
  nonNegative: true,
  refuses: ({bucket}) => (bucket === 1 ? {} : {decode: noDecoder(bucket)}),
  featureDim: (_numFeatures, headDim) => headDim,
  options,
  inputs: () => 'raw',
  // the joint causal form; the others are made of channels' means
  phi: ({headDim, options}) =>
    isExplicit(options)
      ? {query: q => queryFeatures(q, options), key: k => tf.exp(k)}
      : // the softmax over channels divides a row by a number that cancels
        {logarithms: {kind: 'explicit'}, bridges: () => tf.eye(headDim)},
  presets: {
    'performer-pytorch': {
      options: {causalNormalizer: 'joint', normalizerEpsilon: 1e-6},
      quirk:
        'causal: one denominator for all channels, so a large key hides the others, and exp(k) as it is, which overflows float32 past 88',
    },
    'linear-attention-transformer': {
      options: {
        causalNormalizer: 'joint',
        queryScale: 'rsqrt-head-dim',
        causalDenGuard: 'clamp:1e-3',
      },
      quirk:
        'bidirectional rows sum to D^-1/2; causal: one denominator for all channels, raised to 0.001, and exp(k) as it is, which overflows float32 past 88',
    },
  },
})

export default {
  ...map,
  cost,
  // sums by logarithm have a running maximum per channel besides
  stateBytes: ({headDim, valueDim}: {headDim: number; valueDim: number}, options: Options) =>
    featureStateBytes(headDim, isExplicit(options) ? valueDim : valueDim + 1),
  // a bucket is cut by places
  maskedTokens: ({bucket}: Options) => (bucket > 1 ? ('left-out' as const) : ('in-place' as const)),
  attend: (inputs: AttendInputs<Options>) =>
    inputs.causal ? causal(inputs) : {out: bidirectional(inputs)},
  decoder: (inputs: DecoderInputs<Options>): Decoder =>
    inputs.options.causalNormalizer === 'joint'
      ? map.decoder!(inputs)
      : mixtureDecoder(inputs, inputs.headDim, {query: q => tf.softmax(q), key: k => k}),
}

/** The features' cost, and in the causal form that by channels a running log-sum: an exponential, a logarithm, sums. */
function cost(shape: CallShape, options: Options): Cost {
  const {batch, heads, keyLen, headDim, causal} = shape
  const scanned = causal && options.causalNormalizer === 'feature'
  const scan = scanned ? batch * heads * keyLen * headDim * (2 * TRANSCENDENTAL + 8) : 0
  return {flops: map.cost(shape, options).flops + scan}
}

/**
 * `softmax_d(Q) (softmax_n(K)^T V)`: sums of the values for each channel, weighted by exponentials relative to the largest of
 * its keys, then a mixture of these for each query; what divides a channel's sums divides the queries instead.
 */
function bidirectional({query, key, value, keyMask, options}: AttendInputs<Options>): tf.Tensor4D {
  const [batch, heads, queryLen, headDim] = query.shape
  const [keyLen, valueDim] = value.shape.slice(2) as [number, number]
  const rows = batch * heads
  let keys: tf.Tensor3D = tf.reshape(key, [rows, keyLen, headDim])
  if (keyMask) keys = maskLogits(keys, tf.reshape(headMask(keyMask, heads), [rows, keyLen, 1]))
  const top: tf.Tensor3D = tf.max(keys, 1, true)
  const weights: tf.Tensor3D = tf.exp(tf.sub(keys, top))
  const queries: tf.Tensor3D = tf.reshape(queryFeatures(query, options), [rows, queryLen, headDim])
  let shares: tf.Tensor3D = tf.div(queries, tf.sum(weights, 1, true))
  // a batch element without keys has none to mix
  if (keyMask) shares = tf.mul(shares, sawAnyKey(top))
  const sums = matMul(weights, tf.reshape(value, [rows, keyLen, valueDim]), true) // [B H, D, Dv]
  return tf.reshape(matMul(shares, sums), [batch, heads, queryLen, valueDim])
}

/** softmax over the channels, scaled. */
function queryFeatures(query: tf.Tensor4D, {queryScale}: Pick<Options, 'queryScale'>): tf.Tensor4D {
  const weights = tf.softmax(query)
  return queryScale === 'none' ? weights : tf.mul(weights, query.shape[3] ** -0.5)
}

function causal(inputs: AttendInputs<Options>): AttendResult {
  const {bucket} = inputs.options
  if (bucket === 1) return causalForm(inputs)
  // rearranged so that plain causality acts on buckets
  const {tokens, restore} = inBuckets(inputs, bucket)
  const {out, denominator} = causalForm({...inputs, ...tokens})
  if (!denominator) return {out: restore(out)}
  const rows = restore(tf.expandDims(denominator, -1))
  return {out: restore(out), denominator: tf.squeeze(rows, [3])}
}

function causalForm(inputs: AttendInputs<Options>): AttendResult {
  if (inputs.options.causalNormalizer === 'joint') return map.attend(inputs)
  const {query, key, value, keyMask} = inputs
  // exp(q_is + k_js - log-sum of channel s so far): both softmaxes but for what a row shares
  const logits = tf.sub(query, channelSums(inputs)) as tf.Tensor4D
  return {out: causalFeatureAttention(logits, key, value, keyMask)}
}

/** Whether the joint form needs its denominator on the scale of the peer. */
function isExplicit({causalNormalizer, causalDenGuard, normalizerEpsilon}: Options): boolean {
  return causalNormalizer === 'joint' && (causalDenGuard !== 'none' || normalizerEpsilon !== 0)
}

/** `log sum_{j <= i} exp(k_js)` over the keys that query i sees, `[B, H, L, D]`; 0 where there is none. */
function channelSums({query, key, keyMask}: Tokens): tf.Tensor4D {
  const [batch, heads, queryLen, headDim] = query.shape
  const keyLen = key.shape[2]
  const rows = batch * heads
  let keys: tf.Tensor3D = tf.reshape(key, [rows, keyLen, headDim])
  if (keyMask) keys = maskLogits(keys, tf.reshape(headMask(keyMask, heads), [rows, keyLen, 1]))
  const shared = Math.min(queryLen, keyLen)
  // each by a running log-sum: keys are never exponentiated as they are
  let sums = cumulativeLogSumExp(tf.slice(keys, [0, 0, 0], [rows, shared, headDim]))
  // later queries see all keys
  if (queryLen > keyLen) {
    const last = tf.slice(sums, [0, keyLen - 1, 0], [rows, 1, headDim])
    sums = tf.concat([sums, tf.tile(last, [1, queryLen - keyLen, 1])], 1)
  }
  // a row that saw no key has the logit of a masked key here, and its own do not count
  const seen = indicator(sums, x => tf.greater(x, MASKED / 2))
  return tf.reshape(tf.mul(sums, seen), [batch, heads, queryLen, headDim])
}

function noDecoder(bucket: number): string {
  return `expected bucket 1 for decoding, got ${bucket}, which reads the keys a bucket at a time`
}
