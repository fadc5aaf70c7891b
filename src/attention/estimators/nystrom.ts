import {z} from 'zod'
import {tf} from '../../tf.js'
import {type AttendInputs, defineEstimator} from '../forms/estimator.js'
import {segmentStarts, segmentWeights, weightedMeans} from '../forms/pools.js'
import {softmaxTarget} from '../forms/targets.js'
import {segmentMeans, softmaxAttention} from '../kernels/index.js'
import {headMask, maskLogits, presence} from '../kernels/masking.js'
import {matMul} from '../kernels/mat-mul.js'
import {pseudoInverse} from '../kernels/pseudo-inverse.js'
import type {CallShape, Cost} from '../types.js'

/**
 * Low-rank softmax from landmarks: means of m segments of queries and keys.
 *
 * `out = softmax(beta Q K'^T) pinv(softmax(beta Q' K'^T)) softmax(beta Q' K^T) V`, m = `numFeatures`, never
 * more than there are queries (keys). Deterministic and biased; rows sum to one only as far as the
 * pseudo-inverse has converged, and its signed weights can leave the range of V. Exact, up to that inverse,
 * when every token is a landmark. In self-attention (equal numbers of queries and keys) a masked token is left
 * out as a query, too.
 *
 * Source: Xiong et al. 2021, arXiv:2102.03902, equation 14, without the convolution of values.
 */
const options = z.object({
  iterations: z
    .int()
    .nonnegative()
    .max(1000)
    .default(6)
    .describe('steps of the pseudo-inverse; singular values below about 0.05 need more than 6'),
  pinvScale: z
    .enum(['matrix', 'batch'])
    .default('matrix')
    .describe('first scale of the pseudo-inverse: from each head, or from all heads of the call'),
  landmarks: z
    .enum(['even', 'padded'])
    .default('even')
    .describe(
      'even: runs of the tokens that are there; padded: zero tokens before the sequence make its length a multiple of the number of landmarks, and take part',
    ),
})
type Options = z.output<typeof options>

export default defineEstimator({
  name: 'nystrom',
  title: 'Nystromformer: landmarks and a pseudo-inverse',
  citation: 'Xiong et al. 2021, arXiv:2102.03902',
  formula: "out = softmax(q K'^T) pinv(softmax(Q' K'^T)) softmax(Q' K^T) V",
  advice:
    'Use it where queries and keys change slowly along the sequence, so that segment means represent them. With small singular values few iterations are inexact and many are noisy.',
  unbiasedFor: 'none',
  nonNegative: false,
  rowsSumToOne: false,
  supports: {bidirectional: true, causal: false, cross: true, decode: false, keyMask: true},
  keyOrderMatters: true,
  sizedBy: 'landmarks',
  featureDim: () => 0,
  options,
  inputs: () => 'canonical',
  target: softmaxTarget,
  cost,
  attend: inputs => ({out: attend(inputs)}),
  presets: {
    'nystrom-attention': {
      options: {landmarks: 'padded', pinvScale: 'batch'},
      quirk:
        'zero tokens before the sequence are attended to and averaged in; the scale of the inverse depends on the other sequences of the batch',
    },
  },
})

interface Side {
  tokens: tf.Tensor4D
  landmarks: tf.Tensor4D // [B, H, m, D]
  /** Which landmarks stand for a token, `[B, m]`; absent: all. */
  filled?: tf.Tensor2D | undefined
  /** Which tokens are there, `[B, n]`; absent: all. */
  present?: tf.Tensor2D | undefined
}

function attend(inputs: AttendInputs<Options>): tf.Tensor4D {
  const {query, key, value, inputScale, keyMask, options} = inputs
  const scale = inputScale ** 2
  // only where both sides are one sequence does the mask of keys say anything of queries
  const shared = query.shape[2] === key.shape[2] ? keyMask : undefined
  const queries = sideOf(query, shared, inputs)
  const keys = sideOf(key, keyMask, inputs)
  // values of added places are zero; their keys are attended to nevertheless
  const added = keys.tokens.shape[2] - key.shape[2]
  const values = padBefore(value, added)
  // the right factor with V first: [m, S] times [S, Dv] is never larger than m rows
  // A Z B V from the right, Z the pseudo-inverse of the m x m middle: O((L + S) m (D + Dv)), never
  // L x S
  const far = softmaxAttention(queries.landmarks, keys.tokens, values, {
    scale,
    keyMask: keys.present,
  }).out
  const [batch, heads, keyMarks] = keys.landmarks.shape
  const [, , queryMarks, valueDim] = far.shape
  const between = landmarkWeights(queries, keys, scale) // [B H, m, m]
  // O(m^3) per step, the same for any length
  const inverse = pseudoInverse(between, {
    iterations: options.iterations,
    scaleOver: options.pinvScale,
  })
  const mixed = matMul(inverse, tf.reshape(far, [batch * heads, queryMarks, valueDim]))
  // the left factor is an attention to m landmark keys with the m mixed rows as values
  return softmaxAttention(
    query,
    keys.landmarks,
    tf.reshape(mixed, [batch, heads, keyMarks, valueDim]),
    {scale, keyMask: keys.filled},
  ).out
}

function sideOf(
  tokens: tf.Tensor4D,
  mask: tf.Tensor2D | undefined,
  {numFeatures, options}: AttendInputs<Options>,
): Side {
  const present = mask && presence(mask)
  if (options.landmarks === 'padded') return paddedSide(tokens, present, numFeatures)
  const length = tokens.shape[2]
  const count = Math.min(numFeatures, length)
  if (!present) {
    return {tokens, landmarks: segmentMeans(tokens, segmentStarts(length, count))}
  }
  // at most one landmark per token; the others are empty
  const used = tf.minimum(tf.sum(present, 1, true), count) as tf.Tensor2D
  const weights = segmentWeights(present, used, count)
  const filled = tf.cast(tf.greater(tf.sum(weights, -1), 0), 'float32') as tf.Tensor2D
  return {tokens, landmarks: weightedMeans(weights, tokens), filled, present}
}

/** With zero tokens before the others, so that all segments have the same length. */
function paddedSide(tokens: tf.Tensor4D, present: tf.Tensor2D | undefined, count: number): Side {
  const [batch, heads, length, headDim] = tokens.shape
  const size = Math.ceil(length / count)
  const added = size * count - length
  const padded = padBefore(tokens, added)
  if (!present) {
    return {tokens: padded, landmarks: segmentMeans(padded, segmentStarts(size * count, count))}
  }
  const before: [[number, number], [number, number]] = [
    [0, 0],
    [added, 0],
  ]
  // with a mask added places count as absent, without one as zero tokens
  const known = tf.pad2d(present, before)
  const members = tf.sum(tf.reshape(known, [batch, count, size]), -1) // [B, m]
  const here = tf.mul(padded, tf.reshape(known, [batch, 1, size * count, 1]))
  const sums = tf.sum(tf.reshape(here, [batch, heads, count, size, headDim]), 3)
  const divisor = tf.reshape(tf.maximum(members, 1), [batch, 1, count, 1])
  return {
    tokens: padded,
    landmarks: tf.div(sums, divisor),
    filled: tf.minimum(members, 1) as tf.Tensor2D,
    present: known,
  }
}

/** Zero tokens before the others. */
function padBefore(tokens: tf.Tensor4D, count: number): tf.Tensor4D {
  if (count === 0) return tokens
  const [batch, heads, , columns] = tokens.shape
  return tf.concat([tf.zeros<tf.Rank.R4>([batch, heads, count, columns]), tokens], 2)
}

/** Softmax of query landmarks over key landmarks, `[B H, m, m]`; rows and columns of empty ones are zero. */
function landmarkWeights(queries: Side, keys: Side, scale: number): tf.Tensor3D {
  const [batch, heads, rows, headDim] = queries.landmarks.shape
  const columns = keys.landmarks.shape[2]
  const flat = (side: Side, count: number): tf.Tensor3D =>
    tf.reshape(side.landmarks, [batch * heads, count, headDim])
  const products = matMul(flat(queries, rows), flat(keys, columns), false, true)
  const logits: tf.Tensor3D = tf.mul(products, scale)
  const columnMask = keys.filled && headMask(keys.filled, heads)
  // zeros in place of empty rows and columns: the inverse of such a matrix has them too
  let weights = tf.softmax(columnMask ? maskLogits(logits, columnMask) : logits)
  if (columnMask) weights = tf.mul(weights, columnMask)
  if (!queries.filled) return weights
  return tf.mul(weights, tf.transpose(headMask(queries.filled, heads), [0, 2, 1]))
}

/** Two attentions with m landmarks on one side, means of both sides, and four m^3 products a step. */
function cost(shape: CallShape, {iterations}: Options): Cost {
  const {batch, heads, queryLen, keyLen, headDim, valueDim, numFeatures} = shape
  const marks = Math.min(numFeatures, Math.max(queryLen, keyLen))
  const tokens = queryLen + keyLen
  const reading = tokens * marks * (2 * (headDim + valueDim) + 10)
  const means = 2 * tokens * marks * headDim
  const inverse = 8 * iterations * marks ** 3 + 2 * marks ** 2 * (headDim + valueDim)
  return {flops: batch * heads * (reading + means + inverse)}
}
