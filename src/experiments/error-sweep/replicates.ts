/** The replicates of one cell: the same estimator with independent draws, each held against the truth. */
import * as tf from '@tensorflow/tfjs-core'
import {attend, type ExactTarget} from '../../attention/index.js'
import {hostData} from '../../attention/internal.js'
import type {AttentionInput} from '../../inputs/attention-input.js'
import {attendOptions} from '../axes.js'
import type {SweepContext} from './context.js'
import {type ErrorMetrics, errorMetrics, type RowMetrics, rowMetrics} from './metrics.js'
import {OutputMoments} from './moments.js'
import type {ErrorSweepCell} from './schema.js'
import {exactWeights} from './truth.js'

/** Metrics of one replicate: over everything and per head. */
export interface Replicate {
  all: ErrorMetrics
  perHead: ErrorMetrics[]
  rowSumDeviation: number
  negativePct: number
  guardedPct: number
  rows: RowMetrics | undefined
}

/** Runs all replicates of a cell. */
export function replicateRuns(cell: ErrorSweepCell, context: SweepContext, target: ExactTarget) {
  const {input, logitScale, truth} = context
  const tensors = toTensors(input)
  const moments = new OutputMoments(truth.output, cell.replicates)
  const weights = cell.row_metrics
    ? exactWeights(input, {target, logitScale, causal: cell.causal})
    : undefined
  const replicates: Replicate[] = []
  try {
    for (let replicate = 0; replicate < cell.replicates; replicate++) {
      replicates.push(oneReplicate(cell, replicate, context, tensors, moments, weights))
    }
  } finally {
    tf.dispose(Object.values(tensors))
  }
  return {replicates, split: moments.split()}
}

interface SweepTensors {
  query: tf.Tensor4D
  key: tf.Tensor4D
  /** Values with a column of ones, `[B, H, S, Dv + 1]`: its output is the sum of the row's weights. */
  value: tf.Tensor4D
}

function toTensors({query, key, value}: AttentionInput): SweepTensors {
  const [batch, heads, keyLen] = value.shape
  return tf.tidy(() => ({
    query: tf.tensor4d(query.data, query.shape),
    key: tf.tensor4d(key.data, key.shape),
    value: tf.concat(
      [tf.tensor4d(value.data, value.shape), tf.ones([batch, heads, keyLen, 1])],
      3,
    ) as tf.Tensor4D,
  }))
}

function oneReplicate(
  cell: ErrorSweepCell,
  replicate: number,
  {input, truth}: SweepContext,
  {query, key, value}: SweepTensors,
  moments: OutputMoments,
  weights: Float64Array | undefined,
): Replicate {
  const options = attendOptions(cell, replicate)
  const valueDim = input.value.shape[3]
  const result = hostData(() => {
    const {out, denominator, guarded} = attend(query, key, value, options)
    return {out, denominator, guarded}
  })
  const {output, rowSums} = splitColumns(result.out, valueDim)
  moments.add(output)
  const heads = input.query.shape[0] * input.query.shape[1]
  const size = output.length / heads
  const deviation = rowSums.reduce((sum, x) => sum + Math.abs(x - 1), 0) / rowSums.length
  return {
    all: errorMetrics(output, truth.output, valueDim),
    perHead: Array.from({length: heads}, (_, head) => {
      const from = head * size
      const exact = truth.output.subarray(from, from + size)
      return errorMetrics(output.subarray(from, from + size), exact, valueDim)
    }),
    rowSumDeviation: deviation,
    negativePct: percent(result.denominator, x => x <= 0),
    guardedPct: percent(result.guarded, x => x !== 0),
    rows: weights && impliedRows(query, key, options, weights),
  }
}

/** Separates `[rows, Dv + 1]` into outputs `[rows, Dv]` and row sums `[rows]`. */
function splitColumns(
  data: ArrayLike<number>,
  valueDim: number,
): {output: Float32Array; rowSums: Float32Array} {
  const rows = data.length / (valueDim + 1)
  const output = new Float32Array(rows * valueDim)
  const rowSums = new Float32Array(rows)
  for (let row = 0; row < rows; row++) {
    const base = row * (valueDim + 1)
    for (let d = 0; d < valueDim; d++) output[row * valueDim + d] = data[base + d]!
    rowSums[row] = data[base + valueDim]!
  }
  return {output, rowSums}
}

function percent(data: ArrayLike<number> | undefined, test: (x: number) => boolean): number {
  if (!data) return 0
  let count = 0
  for (let i = 0; i < data.length; i++) if (test(data[i]!)) count++
  return (100 * count) / data.length
}

/** The implied attention matrix, by running the estimator on V = I, against the exact weights. */
function impliedRows(
  query: tf.Tensor4D,
  key: tf.Tensor4D,
  options: Parameters<typeof attend>[3],
  weights: Float64Array,
): RowMetrics {
  const [batch, heads, keyLen] = key.shape
  const {out} = hostData(() => {
    const identity = tf.tile(tf.reshape(tf.eye(keyLen), [1, 1, keyLen, keyLen]), [
      batch,
      heads,
      1,
      1,
    ])
    return {out: attend(query, key, identity as tf.Tensor4D, options).out}
  })
  return rowMetrics(out, weights, keyLen)
}
