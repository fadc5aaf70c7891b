/** EVA one token at a time: keys of the window, the chunk at hand, and all finished chunks. */
import {tf} from '../../../tf.js'
import {softmaxAttention} from '../../kernels/index.js'
import {tokenLists} from '../../kernels/token-lists.js'
import type {Decoder} from '../../types.js'
import {appendToken} from '../decoders/cache.js'
import {statefulDecoder} from '../decoders/stateful.js'
import type {DecoderInputs} from '../estimator.js'
import {chunkTokens} from './chunks.js'
import {type EvaOptions, partitionOptions} from './options.js'
import {causalView, type PartitionOptions} from './partition.js'

/** The state: keys and values from the first that is still needed, queries of the chunk at hand, chunks. */
interface State extends Record<string, tf.Tensor4D> {
  key: tf.Tensor4D
  value: tf.Tensor4D
  query: tf.Tensor4D
  chunkKey: tf.Tensor4D
  chunkValue: tf.Tensor4D
}

/** How the tokens so far are cut; their number does not matter. */
function cutsOf(numFeatures: number, options: EvaOptions): PartitionOptions {
  return partitionOptions({length: 1, numFeatures, causal: true}, options)
}

/** First position with a kept key and value once `position` has come. */
function firstKept(position: number, cuts: PartitionOptions): number {
  const chunkStart = Math.floor(position / cuts.chunkSize) * cuts.chunkSize
  return Math.min(causalView(position, cuts).keyStart, chunkStart)
}

/** Bytes of {@link State} after `length` tokens, per batch and head. */
export function evaStateBytes(
  {
    headDim,
    valueDim,
    numFeatures,
    length,
  }: {headDim: number; valueDim: number; numFeatures: number; length: number},
  options: EvaOptions,
): number {
  const cuts = cutsOf(numFeatures, options)
  const kept = length === 0 ? 0 : length - firstKept(length - 1, cuts)
  const chunks = Math.floor(length / cuts.chunkSize)
  return 4 * ((kept + chunks) * (headDim + valueDim) + (length % cuts.chunkSize) * headDim)
}

/** The recurrent form of causal EVA. */
export function evaDecoder(inputs: DecoderInputs<EvaOptions>): Decoder {
  const {batch, heads, headDim, valueDim} = inputs
  const cuts = cutsOf(inputs.numFeatures, inputs.options)
  const none = (columns: number) => tf.zeros<tf.Rank.R4>([batch, heads, 0, columns])
  const initial: State = {
    key: none(headDim),
    value: none(valueDim),
    query: none(headDim),
    chunkKey: none(headDim),
    chunkValue: none(valueDim),
  }
  let position = -1
  return statefulDecoder('WindowDecode', initial, (old, [query, key, value]) => {
    position++
    const first = firstKept(position, cuts)
    // what neither a window nor the chunk at hand reaches any more
    const drop = old.key.shape[2] - (position - first)
    const state: State = {
      ...old,
      key: appendToken(from(old.key, drop), key),
      value: appendToken(from(old.value, drop), value),
      query: appendToken(old.query, query),
    }
    const out = read(inputs, state, cuts, {position, first, query})
    const finished = (position + 1) % cuts.chunkSize === 0
    return {state: finished ? finishChunk(inputs, state, cuts.chunkSize) : state, out}
  })
}

function from(tokens: tf.Tensor4D, start: number): tf.Tensor4D {
  const [batch, heads, count, columns] = tokens.shape
  if (start === 0) return tokens
  if (start === count) return tf.zeros([batch, heads, 0, columns])
  return tf.slice(tokens, [0, 0, start, 0], [batch, heads, count - start, columns])
}

/** One softmax over the window's keys and the chunks before them. */
function read(
  {logitScale, batch, heads, options}: DecoderInputs<EvaOptions>,
  {key, value, chunkKey, chunkValue}: State,
  cuts: PartitionOptions,
  {position, first, query}: {position: number; first: number; query: tf.Tensor4D},
): tf.Tensor4D {
  const {keyStart, chunkCount} = causalView(position, cuts)
  const together = (near: tf.Tensor4D, chunks: tf.Tensor4D): tf.Tensor4D => {
    const window = from(near, keyStart - first)
    if (chunkCount === 0) return window
    const seen = tf.slice(chunks, [0, 0, 0, 0], [batch, heads, chunkCount, chunks.shape[3]])
    return tf.concat([window, seen], 2)
  }
  const keys = together(key, chunkKey)
  const near = position + 1 - keyStart
  // exp(beta q.y_c) |P_c|: a chunk stands for all of its keys
  const bias = Array.from({length: keys.shape[2]}, (_, j) =>
    options.count === 'none' || j < near ? 0 : Math.log(cuts.chunkSize),
  )
  return softmaxAttention(query, keys, together(value, chunkValue), {
    scale: logitScale,
    keyBias: tf.tile(tf.tensor3d(bias, [1, 1, bias.length]), [batch, heads, 1]),
  }).out
}

/** Turns the last tokens into a chunk. */
function finishChunk(inputs: DecoderInputs<EvaOptions>, state: State, chunkSize: number): State {
  const {inputScale, parameters, options, headDim} = inputs
  const index = state.chunkKey.shape[2]
  // row c of the noise belongs to chunk c, as in the form for whole sequences
  const spec = {distribution: 'normal', rows: 1, columns: headDim} as const
  const last = (tokens: tf.Tensor4D) => from(tokens, tokens.shape[2] - chunkSize)
  const chunk = chunkTokens({
    query: state.query,
    key: last(state.key),
    value: last(state.value),
    inputScale,
    causal: true,
    lists: tokenLists([Array.from({length: chunkSize}, (_, i) => i)]),
    noise: options.sampling === 'mean' ? undefined : inputs.noiseRows('proposal', spec, index),
    parameters,
    options,
  })
  return {
    ...state,
    query: from(state.query, chunkSize),
    chunkKey: appendToken(state.chunkKey, chunk.key),
    chunkValue: appendToken(state.chunkValue, chunk.value),
  }
}
