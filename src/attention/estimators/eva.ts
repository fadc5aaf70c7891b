import {tf} from '../../tf.js'
import {type AttendInputs, defineEstimator} from '../forms/estimator.js'
import {type ChunkTokens, chunkTokens} from '../forms/eva/chunks.js'
import {evaDecoder, evaStateBytes} from '../forms/eva/decoder.js'
import {type EvaOptions, evaOptions, evaPartition, partitionOptions} from '../forms/eva/options.js'
import type {Block} from '../forms/eva/partition.js'
import {landmarkParameters} from '../forms/landmarks.js'
import type {NoiseSpec} from '../forms/noise.js'
import {softmaxTarget} from '../forms/targets.js'
import {type SoftmaxAttentionResult, softmaxAttention} from '../kernels/index.js'
import {mergeSoftmax} from '../kernels/merge-softmax.js'
import {
  gatherTokens,
  perHead,
  presentTokens,
  scatterTokens,
  type TokenLists,
  tokenLists,
} from '../kernels/token-lists.js'
import type {CallShape, Cost} from '../types.js'

/**
 * Control-variate attention: keys of a query's own window are seen one by one, all others as chunks.
 *
 * One softmax over the logits `beta q.k_j` of the window's keys and `beta q.y_c + log |P_c|` of the chunks,
 * with values v_j and `sum_{j in P_c} p_j v_j`, where `p = softmax_j(w_c.k_j - |k_j|^2/2)` (canonical units)
 * and w_c is a sample, or the mean, of the chunk's proposal. y_c is the chunk's mean key, mapped by learned
 * arrays where given. Biased; exact when the window holds all keys or chunks hold one key each.
 *
 * A masked token is in no chunk, neither as a key nor as a query.
 *
 * Source: Zheng, Yuan, Wang, Kong 2023, arXiv:2302.04542, section 4.
 */
export default defineEstimator({
  name: 'eva',
  title: 'EVA: windows and control variates',
  citation: 'Zheng et al. 2023, arXiv:2302.04542',
  formula: 'softmax over beta q.k_j of a window and beta q.y_c + log |P_c| of chunks',
  advice:
    'Use it where near keys matter most or keys change slowly along the sequence; the chunk means of i.i.d. tokens say nothing. Keep chunks no longer than windows.',
  unbiasedFor: 'none',
  nonNegative: true,
  rowsSumToOne: true,
  supports: {bidirectional: true, causal: true, cross: false, decode: true, keyMask: true},
  keyOrderMatters: true,
  // squares of a grid have their places, and the released chunks count what is masked
  maskedTokens: ({gridWidth, padding}) =>
    gridWidth !== null || padding === 'zeros' ? 'in-place' : 'left-out',
  sizedBy: 'chunks, unless causal or with chunkSize',
  sized: ({causal}, {chunkSize}) => !causal && chunkSize === null,
  lengthFreeOptions: {chunkSize: 4},
  noise: (shape, options): Record<string, NoiseSpec> => {
    if (options.sampling === 'mean') return {}
    const {chunks} = evaPartition({...shape, length: shape.keyLen}, options)
    return {proposal: {distribution: 'normal', rows: chunks.length, columns: shape.headDim}}
  },
  parameters: landmarkParameters,
  featureDim: () => 0,
  options: evaOptions,
  inputs: () => 'canonical',
  target: softmaxTarget,
  cost,
  stateBytes: evaStateBytes,
  attend: inputs => ({out: attend(inputs)}),
  decoder: evaDecoder,
  presets: {
    hku: {
      options: {
        localKeys: 'twice',
        count: 'none',
        padding: 'zeros',
        proposal: 'average',
        causalProposal: 'sum',
        noiseScale: 'official',
      },
      quirk:
        'a chunk weighs as one key, keys of the window count again in their chunks, absent tokens pull chunk means to zero, and noise has the wrong scale',
    },
  },
})

function attend(inputs: AttendInputs<EvaOptions>): tf.Tensor4D {
  const {query, causal, numFeatures, options} = inputs
  const [batch, heads, length] = query.shape
  const {blocks, chunks} = evaPartition({length, numFeatures, causal}, options)
  const queries = tokenLists(blocks.map(block => block.queries))
  const rows = gatherTokens(query, queries) // [B H W, 1, w, D]
  const exact = tokenLists(blocks.map(block => block.keys))
  // without a block that sees one, chunks are not even formed
  const seen = chunks.filter((_, c) => blocks.some(block => block.sees(c))).length
  const far = seen > 0 ? farKeys(inputs, tokenLists(chunks), blocks) : undefined
  const parts: SoftmaxAttentionResult[] = []
  if (causal) parts.push(ownKeys(inputs, rows, queries))
  if (far || exact.width > 0) parts.push(otherKeys(inputs, rows, exact, far))
  // as one softmax over all parts: each is weighted by exp of its log-sum
  const {out} = parts.reduce(mergeSoftmax)
  return scatterTokens(out, queries, [batch, heads, length])
}

/** Causal: keys of the query's own block, up to its own. */
function ownKeys(
  {key, value, inputScale, keyMask}: AttendInputs<EvaOptions>,
  rows: tf.Tensor4D,
  lists: TokenLists,
): SoftmaxAttentionResult {
  const [batch, heads] = key.shape
  const present = keyMask && presentTokens(lists, keyMask)! // what is beyond the end comes last
  return softmaxAttention(rows, gatherTokens(key, lists), gatherTokens(value, lists), {
    scale: inputScale ** 2,
    causal: true,
    keyMask: present && perHead(present, {batch, heads}),
  })
}

/** Chunks and which block sees which, `[B or 1, W, C]`; absent: all blocks see all. */
interface FarKeys extends ChunkTokens {
  visible?: tf.Tensor3D | undefined
}

function farKeys(
  inputs: AttendInputs<EvaOptions>,
  lists: TokenLists,
  blocks: readonly Block[],
): FarKeys {
  const chunks = chunkTokens({...inputs, lists, noise: inputs.noise.proposal})
  const seen = blocks.flatMap(block =>
    Array.from({length: lists.count}, (_, c) => (block.sees(c) ? 1 : 0)),
  )
  const present = chunks.present && tf.expandDims(chunks.present, 1)
  if (!present && !seen.includes(0)) return chunks
  const shown = tf.tensor3d(seen, [1, blocks.length, lists.count])
  return {...chunks, visible: (present ? tf.mul(shown, present) : shown) as tf.Tensor3D}
}

/** Keys of other blocks that are seen one by one, and chunks, in one softmax. */
function otherKeys(
  {key, value, inputScale, keyMask, options}: AttendInputs<EvaOptions>,
  rows: tf.Tensor4D,
  exact: TokenLists,
  far: FarKeys | undefined,
): SoftmaxAttentionResult {
  const [batch, heads] = key.shape
  // [B H W, 1, K, D]: O(L (w + C)) pairs in all, for windows of w keys and C chunks
  const near = [gatherTokens(key, exact), gatherTokens(value, exact)] as const
  const nearPresent = presentTokens(exact, keyMask)
  const mask = (present: tf.Tensor3D | undefined) => present && perHead(present, {batch, heads})
  const scale = inputScale ** 2
  if (!far) return softmaxAttention(rows, ...near, {scale, keyMask: mask(nearPresent)})
  const everyBlock = (tokens: tf.Tensor4D): tf.Tensor4D => {
    const [, , count, columns] = tokens.shape
    const tiled = tf.tile(tf.reshape(tokens, [batch * heads, 1, count, columns]), [
      1,
      exact.count,
      1,
      1,
    ])
    return tf.reshape(tiled, [batch * heads * exact.count, 1, count, columns])
  }
  const together = (a: tf.Tensor4D, b: tf.Tensor4D) =>
    (exact.width > 0 ? tf.concat([a, everyBlock(b)], 2) : everyBlock(b)) as tf.Tensor4D
  return softmaxAttention(rows, together(near[0], far.key), together(near[1], far.value), {
    scale,
    keyMask: mask(joinMasks(nearPresent, exact, far)),
    keyBias: options.count === 'log' ? countBias(far, exact, {batch, heads}) : undefined,
  })
}

/** Presence of near keys, then of chunks, `[B or 1, W, K + C]`. */
function joinMasks(
  near: tf.Tensor3D | undefined,
  {count, width}: TokenLists,
  {visible, key}: FarKeys,
): tf.Tensor3D | undefined {
  if (!near && !visible) return undefined
  const chunks = visible ?? tf.ones<tf.Rank.R3>([1, count, key.shape[2]])
  if (width === 0) return chunks
  const tokens = near ?? tf.ones<tf.Rank.R3>([1, count, width])
  const batch = Math.max(tokens.shape[0], chunks.shape[0])
  const wide = (mask: tf.Tensor3D) =>
    mask.shape[0] === batch ? mask : tf.tile(mask, [batch, 1, 1])
  return tf.concat([wide(tokens), wide(chunks)], 2) as tf.Tensor3D
}

/** Zero for keys, log of the count for chunks, `[B H W, 1, K + C]`. */
function countBias(
  {logCount}: FarKeys,
  exact: TokenLists,
  {batch, heads}: {batch: number; heads: number},
): tf.Tensor3D {
  const [given, chunks] = logCount.shape
  // exp(beta q.y_c) |P_c|: a chunk stands for all of its keys
  const row = tf.concat([tf.zeros([given, exact.width]), logCount], 1)
  const columns = exact.width + chunks
  const tiled = tf.tile(tf.reshape(row, [given, 1, columns]), [
    batch / given,
    heads * exact.count,
    1,
  ])
  return tf.reshape(tiled, [batch * heads * exact.count, 1, columns])
}

/** N queries over a window and C chunks; chunk means, their maps and mixed values, once each. */
function cost(shape: CallShape, options: EvaOptions): Cost {
  const {batch, heads, queryLen, headDim, valueDim, numFeatures, causal} = shape
  const cut = partitionOptions({length: queryLen, numFeatures, causal}, options)
  const rows = cut.grid[0] === 1 ? 1 : 2
  const side = cut.window + (causal ? 1 : 2) * cut.reach + (cut.once ? cut.chunkSize - 1 : 0)
  const near = Math.min(queryLen, side ** rows)
  const chunks = Math.ceil(queryLen / cut.chunkSize ** rows)
  const pair = 2 * (headDim + valueDim) + 10
  const reading = queryLen * (near + chunks) * pair
  const mixing = queryLen * (pair + 2 * headDim) + 4 * chunks * headDim ** 2
  return {flops: batch * heads * (reading + mixing)}
}
