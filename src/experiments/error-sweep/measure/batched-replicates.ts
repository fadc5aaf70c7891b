/** Replicates that run as heads of one call, so that short calls leave threads and vectors no gaps. */

import {noiseSpecs} from '../../../attention/internal.js'
import type {AttentionArray, AttentionInput} from '../../../inputs/attention-input.js'
import {tf} from '../../../tf.js'
import {callShape, type ForwardShape, type ResolvedMethod} from '../../method.js'
import type {ErrorSweepCell} from '../schema.js'

/** Bytes of the queries, keys, values and outputs of one call: what the caches of a processor hold. */
const CALL_BYTES = 2 ** 23

/** Most replicates of one call. */
const MOST = 64

/**
 * How many replicates of a cell make one call. It depends on sizes alone, so that results do not depend on
 * threads. One, where a replicate is more than its projection: arrays of noise, batch elements, heads that look at each
 * other, weights of every row, learned random vectors.
 */
export function replicatesTogether(
  cell: Pick<ErrorSweepCell, 'num_features' | 'causal' | 'row_metrics' | 'replicates'>,
  {estimator, options, projected, tuned}: ResolvedMethod,
  shape: ForwardShape,
): number {
  if (tuned?.draws) return 1
  if (!projected || cell.row_metrics || shape.batch > 1 || estimator.couplesHeads?.(options))
    return 1
  if (Object.keys(noiseSpecs(estimator, callShape(shape, cell), options)).length > 0) return 1
  const {heads, queryLen, keyLen, headDim, valueDim} = shape
  const width = headDim + valueDim + 1
  const fitting = Math.floor(CALL_BYTES / (4 * heads * (queryLen + keyLen) * width))
  return Math.max(1, Math.min(fitting, cell.replicates, MOST))
}

export interface SweepTensors {
  /** `[B, n H, L, D]` */
  query: tf.Tensor4D
  /** `[B, n H, S, D]` */
  key: tf.Tensor4D
  /** Values with a column of ones, `[B, n H, S, Dv + 1]`: its output is the sum of the row's weights. */
  value: tf.Tensor4D
  /** `[B, S]`, where the input has a mask. */
  keyMask: tf.Tensor2D | undefined
}

/** The inputs of calls, made once for all calls with the same number of replicates. */
export class Calls {
  private made: (SweepTensors & {count: number}) | undefined

  constructor(private readonly input: AttentionInput) {}

  /** Owned by this object, until others are asked for. */
  tensors(count: number): SweepTensors {
    if (this.made?.count === count) return this.made
    this.dispose()
    this.made = {...callTensors(this.input, count), count}
    return this.made
  }

  dispose(): void {
    if (this.made) {
      const {query, key, value, keyMask} = this.made
      tf.dispose([query, key, value, ...(keyMask ? [keyMask] : [])])
    }
    this.made = undefined
  }
}

function callTensors({query, key, value, keyMask}: AttentionInput, count: number): SweepTensors {
  const mask = [key.shape[0], key.shape[2]] as [number, number]
  return {
    keyMask: keyMask && tf.tensor2d(Float32Array.from(keyMask), mask),
    query: repeated(query, count),
    key: repeated(key, count),
    value: repeated(withOnes(value), count),
  }
}

/** All heads again and again, one batch element. */
function repeated({data, shape}: AttentionArray, count: number): tf.Tensor4D {
  if (count === 1) return tf.tensor4d(data, shape)
  const all = new Float32Array(count * data.length)
  for (let copy = 0; copy < count; copy++) all.set(data, copy * data.length)
  const [batch, heads, length, dim] = shape
  return tf.tensor4d(all, [batch, count * heads, length, dim])
}

/** Values with a column of ones. */
function withOnes({data, shape}: AttentionArray): AttentionArray {
  const [batch, heads, length, dim] = shape
  const rows = batch * heads * length
  const widened = new Float32Array(rows * (dim + 1)).fill(1)
  for (let row = 0; row < rows; row++) {
    widened.set(data.subarray(row * dim, (row + 1) * dim), row * (dim + 1))
  }
  return {data: widened, shape: [batch, heads, length, dim + 1]}
}
