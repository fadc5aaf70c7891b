/** Memory of a benchmark's cell, predicted from what it holds, without that of its process before. */
import type {CallShape} from '../../../attention/index.js'
import {footprint, type MeteredBackend} from '../../../attention/internal.js'
import type {ResolvedMethod} from '../../method.js'
import {counts, type ProcessOfCell, uncollected} from '../../process-memory.js'

const FLOAT = 4

/**
 * Peak of a benchmark's cell: its inputs, on tfjs-wasm also in the heap of WebAssembly, and one forward.
 *
 * @param repetitions - forwards
 * @param keyHeads - heads of keys and values as they are given; fewer are repeated in each forward. Default: all
 */
export function benchRunBytes(
  {backend, method, shape}: ProcessOfCell,
  repetitions: number,
  keyHeads = shape.heads,
): number {
  const {queries, keys, values} = counts(shape)
  const copied = keyHeads === shape.heads ? 0 : FLOAT * (keys + values)
  const inputs = FLOAT * (queries + ((keys + values) * keyHeads) / shape.heads)
  const run = copied + footprint(method.estimator, method.options, shape, backend)
  const heap = backend === 'wasm' ? inputs : 0
  return inputs + heap + run + uncollected(backend, {made: run, read: 0}, repetitions)
}

/**
 * Peak of a decode: its state, and on backends that make a new one for each token, those that the collector has
 * not come to.
 *
 * @param state - bytes after the last token
 * @param repetitions - decodes
 */
export function decodeRunBytes(
  backend: MeteredBackend,
  state: number,
  repetitions: number,
): number {
  const made = backend === 'native' ? state : Number.POSITIVE_INFINITY
  return 2 * state + uncollected(backend, {made, read: made}, repetitions + 1)
}

/** Bytes of what parts give, once kept for the next part and once made while one is timed. */
export function breakdownBytes({estimator, options}: ResolvedMethod, shape: CallShape): number {
  if (!estimator.parts) return 0
  const {batch, heads, keyLen, headDim, valueDim, numFeatures} = shape
  const perToken = 2 * estimator.featureDim(numFeatures, headDim, options) + 2 * valueDim + 1
  return 2 * FLOAT * batch * heads * keyLen * perToken
}
