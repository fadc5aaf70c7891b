/** The replicates of one cell: the same estimator with independent draws, each held against the truth. */

import {attend, type ExactTarget} from '../../../attention/index.js'
import {hostData, projectionTensor} from '../../../attention/internal.js'
import {type ErrorSums, hostLoops} from '../../../host-loops.js'
import {sizesOf} from '../../../inputs/attention-input.js'
import type {tf} from '../../../tf.js'
import {attendOptions, drawOf} from '../../axes.js'
import type {OnStep} from '../../experiment.js'
import type {ResolvedMethod} from '../../method.js'
import {mostReplicates} from '../../until-ci.js'
import type {ErrorSweepCell} from '../schema.js'
import {Calls, replicatesTogether, type SweepTensors} from './batched-replicates.js'
import {nextCount} from './batches.js'
import type {SweepContext} from './context.js'
import {type Judged, judgedRows} from './masked-tokens.js'
import {
  type ErrorMetrics,
  type ExactSums,
  errorMetrics,
  rowSumDeviation,
  runsOfHeads,
} from './metrics.js'
import {OutputMoments} from './moments.js'
import type {RowMetrics} from './row-distances.js'
import {RowTiles} from './row-tiles.js'

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
  const {cell, context, target} = request
  const {truth, exactSums, input, logitScale} = context
  const exact = {target, logitScale, causal: cell.causal}
  const run: Run = {
    request,
    moments: new OutputMoments(truth.output, runsOfHeads(exactSums), cell.replicates),
    rows: cell.row_metrics ? new RowTiles({input, exact}) : undefined,
    calls: new Calls(input),
    judged: judgedRows(input),
  }
  const replicates: Replicate[] = []
  try {
    for (;;) {
      const wanted = nextCount(cell, replicates)
      if (wanted === undefined) break
      replicates.push(...batch(run, {first: replicates.length, count: wanted - replicates.length}))
    }
  } finally {
    run.calls.dispose()
  }
  return {replicates, split: run.moments.split()}
}

/** What the calls of a cell share. */
interface Run {
  request: ReplicateRequest
  moments: OutputMoments
  /** Where rows are measured. */
  rows: RowTiles | undefined
  calls: Calls
  judged: Judged
}

/** Some replicates, by their places among all. */
interface Span {
  first: number
  count: number
}

/** Runs so many replicates more. */
function batch({request, moments, rows, calls, judged}: Run, span: Span): Replicate[] {
  const {cell, method, context} = request
  const together = replicatesTogether(cell, method, sizesOf(context.input))
  const end = span.first + span.count
  const replicates: Replicate[] = []
  for (let first = span.first; first < end; first += together) {
    const count = Math.min(together, end - first)
    const {out, parts} = oneCall(request, calls.tensors(count), {first, count}, judged)
    for (const drawn of parts) {
      replicates.push(replicateOf(drawn, moments.add(drawn.estimate), context.exactSums))
    }
    request.onStep?.(first + count, mostReplicates(cell))
    hostLoops().recycle?.(out) // a large sweep then holds one output, not all that wait to be collected
  }
  if (!rows) return replicates
  const metrics = rows.metricsOf(
    calls.tensors(1),
    replicates.map((_, at) => ({
      ...attendOptions(cell, span.first + at),
      ...sharedOptions(request, calls.tensors(1)),
    })),
  )
  return replicates.map((replicate, at) => ({...replicate, rows: metrics[at]}))
}

/** Options of all calls of a cell. */
function sharedOptions({context}: ReplicateRequest, {keyMask}: SweepTensors) {
  return {scale: context.logitScale, ...(keyMask && {keyMask})}
}

/** What one replicate gave. */
interface Drawn {
  /** Rows of Dv + 1, those that are judged. */
  estimate: Float32Array
  negativePct: number
  guardedPct: number
}

/** Replicates `first` to `first + count - 1`. */
function oneCall(
  request: ReplicateRequest,
  tensors: SweepTensors,
  span: Span,
  judged: Judged,
): {out: Float32Array; parts: Drawn[]} {
  const {cell, context} = request
  const {query, key, value} = tensors
  const {out, denominator, guarded} = hostData(() => {
    const options = {
      ...callOptions(cell, context.input, span),
      ...sharedOptions(request, tensors),
    }
    const {out, denominator, guarded} = attend(query, key, value, options)
    return {out, denominator, guarded}
  })
  const part = (data: tf.TypedArray, index: number, width: number) => {
    const size = data.length / span.count
    return judged(data.subarray(index * size, (index + 1) * size) as Float32Array, width)
  }
  const parts = Array.from({length: span.count}, (_, index) => ({
    estimate: part(out, index, value.shape[3]),
    negativePct: denominator ? percent(part(denominator, index, 1), x => x <= 0) : 0,
    guardedPct: guarded ? percent(part(guarded, index, 1), x => x !== 0) : 0,
  }))
  return {out: out as Float32Array, parts}
}

/** A call of several replicates is given their projections, each head its own. */
function callOptions(cell: ErrorSweepCell, {query}: SweepContext['input'], {first, count}: Span) {
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
  const {negativePct, guardedPct} = drawn
  return {
    all: errorMetrics(sums, exact),
    perHead: sums.map((sum, head) => errorMetrics([sum], [exact[head]!])),
    rowSumDeviation: rowSumDeviation(sums, exact),
    negativePct,
    guardedPct,
    rows: undefined,
  }
}

function percent(data: ArrayLike<number>, test: (x: number) => boolean): number {
  let count = 0
  for (let i = 0; i < data.length; i++) if (test(data[i]!)) count++
  return (100 * count) / data.length
}
