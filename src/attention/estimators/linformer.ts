import {z} from 'zod'
import {tf} from '../../tf.js'
import {type AttendInputs, defineEstimator} from '../forms/estimator.js'
import type {NoiseSpec} from '../forms/noise.js'
import {matMul, softmaxAttention} from '../kernels/index.js'
import {headMask} from '../kernels/masking.js'
import type {CallShape, KeyMask} from '../types.js'

/**
 * Low-rank attention: S keys and values are mixed into k of each, which queries attend to exactly.
 *
 * `out = softmax(beta q (E^T K)^T) F^T V`, E and F `[S, k]`, k = `numFeatures`. They are made to be
 * learned for one fixed S. Drawn at random, `E[E E^T] = I`, but the softmax of a projection does not
 * estimate the softmax: the error does not go away with k. Mixed values have signed weights, so an output
 * can leave the range of V, and rows do not sum to one.
 *
 * Source: Wang et al. 2020, arXiv:2006.04768, equation 7.
 */
const options = z.object({
  init: z
    .enum(['gaussian', 'uniform'])
    .default('gaussian')
    .describe('projections drawn where none is learned: N(0, 1/k) or uniform within k^-1/2 of 0'),
  share: z
    .boolean()
    .default(false)
    .describe('keys and values are projected by one matrix, that of the keys'),
})
type Options = z.output<typeof options>

export default defineEstimator({
  name: 'linformer',
  title: 'Linformer: keys and values projected along the sequence',
  citation: 'Wang et al. 2020, arXiv:2006.04768',
  formula: 'out = softmax(beta q (E^T K)^T) F^T V, E and F [S, k]',
  advice:
    'For models trained with it, at their one length. With projections drawn at random it is biased and says nothing about softmax attention.',
  unbiasedFor: 'none',
  nonNegative: false,
  rowsSumToOne: false,
  supports: {bidirectional: true, causal: false, cross: true, decode: false, keyMask: true},
  keyOrderMatters: true,
  sizedBy: 'projected keys',
  noise: ({keyLen, numFeatures}, {init, share}): Record<string, NoiseSpec> => {
    const spec: NoiseSpec = {
      distribution: init === 'gaussian' ? 'normal' : 'uniform',
      rows: keyLen,
      columns: numFeatures,
      shared: true,
    }
    return share ? {keyProjection: spec} : {keyProjection: spec, valueProjection: spec}
  },
  parameters: ({keyLen, numFeatures}, {share}): Record<string, number[]> => {
    const shape = [keyLen, numFeatures]
    return share ? {keyProjection: shape} : {keyProjection: shape, valueProjection: shape}
  },
  featureDim: () => 0,
  options,
  inputs: () => 'canonical',
  target: () => undefined,
  cost,
  attend: inputs => {
    const {query, key, value, inputScale, keyMask, options} = inputs
    // O(S k (D + Dv)), then O(L k (D + Dv)): linear in L and S for a fixed k
    const keys = projected(key, projection(inputs, 'keyProjection'), keyMask)
    const name = options.share ? 'keyProjection' : 'valueProjection'
    const values = projected(value, projection(inputs, name), keyMask)
    return {out: softmaxAttention(query, keys, values, {scale: inputScale ** 2}).out}
  },
  presets: {},
})

/** The learned matrix of that name, `[1, S, k]`, or a drawn one, `[B H, S, k]`. */
function projection(
  {key, noise, parameters, numFeatures, options}: AttendInputs<Options>,
  name: 'keyProjection' | 'valueProjection',
): tf.Tensor3D {
  const [batch, heads, keyLen] = key.shape
  const learned = parameters[name] as tf.Tensor2D | undefined
  if (learned) return tf.reshape(learned, [1, keyLen, numFeatures])
  const drawn = noise[name]! // [1, H, S, k]
  // entries of variance 1/k, or uniform ones of variance 1/(3k)
  const unit = options.init === 'gaussian' ? drawn : tf.sub(tf.mul(drawn, 2), 1)
  const perHead = tf.reshape(tf.mul(unit, numFeatures ** -0.5), [heads, keyLen, numFeatures])
  return tf.tile(perHead, [batch, 1, 1]) as tf.Tensor3D
}

/** Rows mixed along the sequence, `[B, H, S, n]` to `[B, H, k, n]`; masked ones are left out. */
function projected(
  rows: tf.Tensor4D,
  projection: tf.Tensor3D,
  keyMask: KeyMask | undefined,
): tf.Tensor4D {
  const [batch, heads, keyLen, width] = rows.shape
  let flat: tf.Tensor3D = tf.reshape(rows, [batch * heads, keyLen, width])
  // a masked row times zero is left out of every mean
  if (keyMask) {
    flat = tf.mul(flat, tf.reshape(headMask(keyMask, heads), [batch * heads, keyLen, 1]))
  }
  const mixed = matMul(projection, flat, true) // [B H, k, n]
  return tf.reshape(mixed, [batch, heads, projection.shape[2], width])
}

/** Both projections, `2 S k (D + Dv)`, and attention of L queries to k keys. */
function cost(shape: CallShape) {
  const {batch, heads, queryLen, keyLen, headDim, valueDim, numFeatures} = shape
  const project = 2 * keyLen * numFeatures * (headDim + valueDim)
  const attend = queryLen * numFeatures * (2 * (headDim + valueDim) + 10)
  return {flops: batch * heads * (project + attend)}
}
