/** Control variates of EVA: what a chunk of keys looks like from far away. */
import {tf} from '../../../tf.js'
import {halfSquaredNorm, softmaxAttention} from '../../kernels/index.js'
import {gatherTokens, perHead, presentTokens, type TokenLists} from '../../kernels/token-lists.js'
import type {KeyMask, Parameters} from '../../types.js'
import type {AttendInputs} from '../estimator.js'
import {mapLandmarks} from '../landmarks.js'
import {noiseDeviation} from '../options.js'
import {type EvaOptions, proposalOf} from './options.js'

export interface ChunkTokens {
  /** Mean keys, mapped, `[B, H, C, D]`. */
  key: tf.Tensor4D
  /** Mixed values, `[B, H, C, Dv]`. */
  value: tf.Tensor4D
  /** Log of the number of keys, `[B or 1, C]`. */
  logCount: tf.Tensor2D
  /** Which chunks take part, `[B or 1, C]`; absent: all. */
  present?: tf.Tensor2D | undefined
}

export interface ChunkInputs
  extends Pick<AttendInputs<EvaOptions>, 'query' | 'key' | 'value' | 'inputScale' | 'options'> {
  lists: TokenLists
  causal: boolean
  keyMask?: KeyMask | undefined
  parameters: Parameters
  /** Standard normals, `[B, H, C, D]`, for a sampled proposal. */
  noise?: tf.Tensor4D | undefined
}

/**
 * Of each chunk: its mean key y, and `sum_j p_j v_j` with `p = softmax_j(w.y_j - |y_j|^2/2)`, w drawn from
 * the proposal N(mu, I) or its mean.
 */
export function chunkTokens(inputs: ChunkInputs): ChunkTokens {
  const {query, key, value, inputScale, options, lists, keyMask} = inputs
  const [batch, heads, , headDim] = key.shape
  const sizes = {batch, heads}
  const present = presentTokens(lists, keyMask)
  const weights = present && perHead(present, sizes) // [B H C, P]
  // without a mask every chunk of full lists has the same number of keys
  const counts = present ? tf.sum(present, -1) : tf.fill([1, lists.count], lists.width)
  const keys = gatherTokens(key, lists) // [B H C, 1, P, D]
  const values = gatherTokens(value, lists)
  const mean = (tokens: tf.Tensor4D): tf.Tensor4D => {
    const shape = [batch, heads, lists.count, headDim] as const
    return tf.reshape(meanTokens(tokens, weights, options.padding), [...shape])
  }
  const meanKey = mapLandmarks(mean(keys), 'key', inputs.parameters)
  const bridge = proposalSample(inputs, meanKey, () => mean(gatherTokens(query, lists)))
  // one query per chunk, w, against the chunk's own keys: xi(y, w) = exp(w.y - |y|^2/2), O(S (D + Dv)) in all
  const mixed = softmaxAttention(
    tf.reshape(bridge, [batch * heads * lists.count, 1, 1, headDim]),
    keys,
    values,
    {
      scale: inputScale ** 2,
      keyBias: tf.neg(halfSquaredNorm(keys, inputScale)) as tf.Tensor3D,
      keyMask: weights,
    },
  ).out
  return {
    key: meanKey,
    value: tf.reshape(mixed, [batch, heads, lists.count, value.shape[3]]),
    logCount: tf.log(tf.maximum(counts, 1)) as tf.Tensor2D,
    present: options.padding === 'none' && present ? tf.minimum(counts, 1) : undefined,
  }
}

/** Means of `[B H C, 1, P, D]` over P. */
function meanTokens(
  tokens: tf.Tensor4D,
  weights: tf.Tensor2D | undefined,
  padding: 'none' | 'zeros',
): tf.Tensor {
  const [rows, , width] = tokens.shape
  if (!weights) return tf.div(tf.sum(tokens, 2), width)
  const present = tf.mul(tokens, tf.reshape(weights, [rows, 1, width, 1]))
  const total = tf.sum(present, 2) // [B H C, 1, D]
  if (padding === 'zeros') return tf.div(total, width) // absent tokens pull the mean to zero
  const count = tf.maximum(tf.sum(weights, -1), 1)
  return tf.div(total, tf.reshape(count, [rows, 1, 1]))
}

/** w of each chunk in the units of raw queries and keys, `[B, H, C, D]`. */
function proposalSample(
  {options, causal, parameters, noise, inputScale}: ChunkInputs,
  meanKey: tf.Tensor4D,
  meanQuery: () => tf.Tensor4D,
): tf.Tensor4D {
  const proposal = proposalOf(options, causal)
  let bridge: tf.Tensor4D = tf.zerosLike(meanKey)
  if (proposal !== 'zero') {
    bridge = tf.add(mapLandmarks(meanQuery(), 'query', parameters), meanKey)
    if (proposal === 'average') bridge = tf.mul(bridge, 0.5)
  }
  if (!noise) return bridge // deterministic: the mean of the proposal stands for its sample
  return tf.add(bridge, tf.mul(noise, noiseDeviation(options.noiseScale, inputScale)))
}
