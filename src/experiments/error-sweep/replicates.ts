/** The replicates of one cell: the same estimator with independent draws, each held against the truth. */

import {attend, type ExactTarget} from '../../attention/index.js'
import {hostData, projectionTensor} from '../../attention/internal.js'
import {type ErrorSums, hostLoops} from '../../host-loops.js'
import {sizesOf} from '../../inputs/attention-input.js'
import {tf} from '../../tf.js'
import {attendOptions, drawOf} from '../axes.js'
import type {OnStep} from '../experiment.js'
import type {ResolvedMethod} from '../method.js'
import type {SweepContext} from './context.js'
import {type Judged, judgedRows, overAllKeys, partsInView} from './in-view.js'
import {
  type ErrorMetrics,
  type ExactSums,
  errorMetrics,
  type RowMetrics,
  rowMetrics,
  rowSumDeviation,
  runsOfHeads,
} from './metrics.js'
import {OutputMoments} from './moments.js'
import type {ErrorSweepCell} from './schema.js'
import {Calls, replicatesTogether, type SweepTensors} from './together.js'
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

/** What is run, and against what. */
export interface ReplicateRequest {
  cell: ErrorSweepCell
  method: ResolvedMethod
  context: SweepContext
  target: ExactTarget
  onStep?: OnStep | undefined
}

/** Runs all replicates of a cell. */
export function replicateRuns(request: ReplicateRequest) {
  const {cell, method, context} = request
  const {truth, exactSums, input} = context
  const shape = sizesOf(input)
  const moments = new OutputMoments(truth.output, runsOfHeads(exactSums), cell.replicates)
  const weights = cell.row_metrics ? exactWeightsOf(request) : undefined
  const together = replicatesTogether(cell, method, shape)
  const calls = new Calls(input)
  const judged = judgedRows(input)
  const replicates: Replicate[] = []
  try {
    for (let first = 0; first < cell.replicates; first += together) {
      const count = Math.min(together, cell.replicates - first)
      const {out, parts} = oneCall(request, calls.tensors(count), {first, count}, {judged, weights})
      for (const drawn of parts) {
        replicates.push(replicateOf(drawn, moments.add(drawn.estimate), exactSums))
      }
      request.onStep?.(first + count, cell.replicates)
      hostLoops().recycle?.(out) // a large sweep then holds one output, not all that wait to be collected
    }
  } finally {
    calls.dispose()
  }
  return {replicates, split: moments.split()}
}

/** What an output is held against, row by row. */
interface Judgement {
  judged: Judged
  /** Exact weights `[judged rows, S]`, where rows are measured. */
  weights: Float64Array | undefined
}

/** What one replicate gave. */
interface Drawn {
  /** Rows of Dv + 1, those that are judged. */
  estimate: Float32Array
  negativePct: number
  guardedPct: number
  rows: RowMetrics | undefined
}

/** Replicates `first` to `first + count - 1`. */
function oneCall(
  {cell, context}: ReplicateRequest,
  tensors: SweepTensors,
  {first, count}: {first: number; count: number},
  {judged, weights}: Judgement,
): {out: Float32Array; parts: Drawn[]} {
  const {query, key, value, keyMask} = tensors
  const shared = {scale: context.logitScale, ...(keyMask && {keyMask})}
  const {out, denominator, guarded} = hostData(() => {
    const options = {...callOptions(cell, context.input, {first, count}), ...shared}
    const {out, denominator, guarded} = attend(query, key, value, options)
    return {out, denominator, guarded}
  })
  const part = (data: tf.TypedArray, index: number, width: number) => {
    const size = data.length / count
    return judged(data.subarray(index * size, (index + 1) * size) as Float32Array, width)
  }
  const parts = Array.from({length: count}, (_, index) => ({
    estimate: part(out, index, value.shape[3]),
    negativePct: denominator ? percent(part(denominator, index, 1), x => x <= 0) : 0,
    guardedPct: guarded ? percent(part(guarded, index, 1), x => x !== 0) : 0,
    rows:
      weights &&
      impliedRows(tensors, {...attendOptions(cell, first), ...shared}, {judged, weights}),
  }))
  return {out: out as Float32Array, parts}
}

/** A call of several replicates is given their projections, each head its own. */
function callOptions(
  cell: ErrorSweepCell,
  {query}: SweepContext['input'],
  {first, count}: {first: number; count: number},
) {
  const options = attendOptions(cell, first)
  const {projection: name, num_features: numFeatures} = cell
  if (count === 1 || name === null || numFeatures === null) return options
  const [, heads, , headDim] = query.shape
  const sizes = {heads, numFeatures, headDim}
  const projection = projectionTensor({
    name,
    ...sizes,
    ...drawOf(cell, first),
    replicates: count,
  })
  return {...options, projection}
}

function replicateOf(drawn: Drawn, sums: ErrorSums[], exact: readonly ExactSums[]): Replicate {
  const {negativePct, guardedPct, rows} = drawn
  return {
    all: errorMetrics(sums, exact),
    perHead: sums.map((sum, head) => errorMetrics([sum], [exact[head]!])),
    rowSumDeviation: rowSumDeviation(sums, exact),
    negativePct,
    guardedPct,
    rows,
  }
}

function percent(data: ArrayLike<number>, test: (x: number) => boolean): number {
  let count = 0
  for (let i = 0; i < data.length; i++) if (test(data[i]!)) count++
  return (100 * count) / data.length
}

/** Exact weights `[judged rows, S]`. */
function exactWeightsOf({cell, context, target}: ReplicateRequest): Float64Array {
  const {input, logitScale} = context
  const {causal} = cell
  const parts = Array.from(partsInView(input, causal), part =>
    exactWeights(part, {target, logitScale, causal}),
  )
  return overAllKeys(input, parts)
}

/** The implied attention matrix, by running the estimator on V = I, against the exact weights. */
function impliedRows(
  {query, key}: SweepTensors,
  options: Parameters<typeof attend>[3],
  {judged, weights}: {judged: Judged; weights: Float64Array},
): RowMetrics {
  const [batch, heads, keyLen] = key.shape
  const {out} = hostData(() => {
    const identity = tf.reshape(tf.eye(keyLen), [1, 1, keyLen, keyLen])
    const values = tf.tile(identity, [batch, heads, 1, 1]) as tf.Tensor4D
    return {out: attend(query, key, values, options).out}
  })
  return rowMetrics(judged(out as Float32Array, keyLen), weights, keyLen)
}
