/** The replicates of one cell: the same estimator with independent draws, each held against the truth. */

import type {ExactTarget} from '../../../attention/index.js'
import {
  type AttendInputs,
  attendCall,
  type ExactOptions,
  givesRows,
  hostData,
  projectionTensor,
  rowWeightsOf,
} from '../../../attention/internal.js'
import {type ErrorSums, hostLoops} from '../../../host-loops.js'
import {sizesOf} from '../../../inputs/attention-input.js'
import {type Judged, judgedRows} from '../../../inputs/masked-tokens.js'
import {summarise} from '../../../stats/index.js'
import {tf} from '../../../tf.js'
import {tunedCall, tunedInputs} from '../../../tuned/call.js'
import type {TunedFile} from '../../../tuned/index.js'
import {attendOptions, drawOf, viewOf} from '../../axes.js'
import type {OnStep} from '../../experiment.js'
import type {ResolvedMethod} from '../../method.js'
import {isNarrow, mostReplicates, nextReplicates} from '../../until-ci.js'
import type {ModelErrors, OutputMetrics} from '../replicate-metrics.js'
import type {ErrorSweepCell, ErrorSweepResult, PrecisionMetric} from '../schema.js'
import {Calls, replicatesTogether, type SweepTensors} from './batched-replicates.js'
import type {SweepContext} from './context.js'
import {type ErrorMetrics, type ExactSums, errorMetrics} from './metrics.js'
import {type ErrorSplit, OutputMoments, runsOfHeads} from './moments.js'
import {Projection} from './projected.js'
import {type QueryErrors, queryErrorsOf, type ReplicateQueries} from './query-errors.js'
import type {RowMetrics} from './row-distances.js'
import {ROW_DRAWS, type RowErrors, type RowSample, rowSampleOf} from './row-sample.js'
import {RowTiles} from './row-tiles.js'
import {TokenMeans} from './token-means.js'

/** Metrics of one replicate: over everything, per head, of queries, and of rows where they are measured. */
export interface Replicate {
  all: OutputMetrics
  model: ModelErrors
  perHead: ErrorMetrics[]
  /** rel_l2 of each sequence over its heads; one number where there is one. */
  perSequence: number[]
  /** Of single queries. */
  queries: ReplicateQueries
  rows: (RowMetrics & {errors?: RowErrors}) | undefined
}

export interface ReplicateRequest {
  cell: ErrorSweepCell
  method: ResolvedMethod
  context: SweepContext
  target: ExactTarget
  /** Learned parameters. Default: none */
  tuned?: TunedFile | undefined
  onStep?: OnStep | undefined
}

/** Bias and variance of errors; `undefined` where the input lacks what they take. */
export interface ModelSplits {
  token_mean: ErrorSplit
  projected: ErrorSplit | undefined
  residual: ErrorSplit | undefined
}

export function replicateRuns(request: ReplicateRequest) {
  const {cell, context, target} = request
  const {truth, exactSums, input, logitScale} = context
  const exact = {target, logitScale, ...viewOf(cell)}
  const run: Run = {
    request,
    moments: new OutputMoments(truth.output, runsOfHeads(exactSums), cell.replicates),
    tokenMeans: new TokenMeans(exactSums, cell.replicates),
    projection: projectionOf(context, cell.replicates),
    rows: cell.row_metrics ? new RowTiles({input, exact}) : undefined,
    sample: sampleOf(request, exact),
    calls: new Calls(input),
    judged: judgedRows(input),
    queries: queryErrorsOf(truth.output, exactSums, cell.causal),
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
    run.projection?.dispose()
  }
  const {moments, sample} = run
  const counts = sample && {rows: sample.rows, of: sample.of}
  return {replicates, split: moments.split(), modelSplits: modelSplits(run), sampled: counts}
}

/** The rows of some queries, where all are not asked for and the method has weights of single ones. */
function sampleOf(
  {cell, method, context}: ReplicateRequest,
  exact: ExactOptions,
): RowSample | undefined {
  const {row_queries: queries, row_metrics: all, seed} = cell
  if (all || queries === undefined || !givesRows(method.estimator, method.options)) return undefined
  const {input, truth} = context
  return rowSampleOf(truth.output, {input, exact, queries, seed})
}

/** Where the input has an output projection. */
function projectionOf(
  {input, truth, exactSums, projectedSquares}: SweepContext,
  replicates: number,
): Projection | undefined {
  const {outputProjection} = input
  if (!outputProjection || projectedSquares === undefined) return undefined
  const given = {input: {...input, outputProjection}, exact: truth.output, exactSums}
  return new Projection(given, projectedSquares, replicates)
}

function modelSplits({tokenMeans, projection}: Run): ModelSplits {
  const projected = projection?.splits()
  return {
    token_mean: tokenMeans.split(),
    projected: projected?.projected,
    residual: projected?.residual,
  }
}

/** What the calls of a cell share. */
interface Run {
  request: ReplicateRequest
  moments: OutputMoments
  tokenMeans: TokenMeans
  /** Where the input has one. */
  projection: Projection | undefined
  /** Where rows are measured. */
  rows: RowTiles | undefined
  /** Where rows of some queries are. */
  sample: RowSample | undefined
  calls: Calls
  judged: Judged
  queries: QueryErrors
}

/** Some replicates, by their places among all. */
interface Span {
  first: number
  count: number
}

/** Runs a number of further replicates. */
function batch(run: Run, span: Span): Replicate[] {
  const {request, rows, calls} = run
  const {cell, method, context} = request
  const together = replicatesTogether(cell, method, sizesOf(context.input))
  const end = span.first + span.count
  const replicates: Replicate[] = []
  for (let first = span.first; first < end; first += together) {
    const count = Math.min(together, end - first)
    const {out, drawn} = oneCall(run, calls.tensors(count), {first, count})
    for (let at = 0; at < count; at++) replicates.push(replicateOf(drawn(at), run))
    request.onStep?.(first + count, mostReplicates(cell))
    hostLoops().recycle?.(out) // a large sweep then holds one output, not all that wait to be collected
  }
  if (!rows) return replicates
  const metrics = rows.metricsOf(
    calls.tensors(1),
    replicates.map((_, at) => ({
      ...attendOptions(cell, span.first + at),
      ...sharedOptions(request, calls.tensors(1)),
      ...tunedOption(request, span.first + at),
    })),
  )
  return replicates.map((replicate, at) => ({...replicate, rows: metrics[at]}))
}

/** Options of all calls of a cell. */
function sharedOptions({context}: ReplicateRequest, {keyMask}: SweepTensors) {
  return {scale: context.logitScale, ...(keyMask && {keyMask})}
}

/** The learned parameters of a replicate; of several together those that serve all. */
function tunedOption({tuned, cell}: ReplicateRequest, replicate: number) {
  return tuned && {tuned: tunedCall(tuned, cell.layer, replicate)}
}

interface Drawn {
  /** Rows of Dv + 1, those that are judged, until the next replicate. */
  estimate: Float32Array
  negativePct: number
  guardedPct: number
  /** Of the sampled rows. */
  weights: Float32Array | undefined
}

/** Replicates `first` to `first + count - 1`, one of which is to be judged before the next is asked for. */
function oneCall(
  {request, judged, sample}: Run,
  tensors: SweepTensors,
  span: Span,
): {out: Float32Array; drawn: (index: number) => Drawn} {
  const {cell, context} = request
  const {query, key, value} = tensors
  const {out, denominator, guarded, weights} = hostData(() => {
    const options = {
      ...callOptions(cell, context.input, span),
      ...sharedOptions(request, tensors),
      ...tunedOption(request, span.first),
    }
    const {estimator, inputs} = tunedInputs(query, key, value, options)
    const {out, denominator, guarded} = attendCall(estimator, inputs)
    const copies = sample ? Math.min(span.count, ROW_DRAWS - span.first) : 0
    const weights =
      copies > 0
        ? rowWeightsOf(estimator, firstCopies(inputs, copies, span.count), sample!.choice(copies))
        : undefined
    return {out, denominator, guarded, weights}
  })
  const part = (data: tf.TypedArray, index: number, width: number) => {
    const size = data.length / span.count
    return judged(data.subarray(index * size, (index + 1) * size) as Float32Array, width)
  }
  const rowsOfCopy = (data: tf.TypedArray, index: number) => {
    const size = sample!.size
    const own = data.subarray(index * size, (index + 1) * size) as Float32Array
    return own.length === size ? own : undefined
  }
  const drawn = (index: number) => ({
    estimate: part(out, index, value.shape[3]),
    negativePct: denominator ? percent(part(denominator, index, 1), x => x <= 0) : 0,
    guardedPct: guarded ? percent(part(guarded, index, 1), x => x !== 0) : 0,
    weights: weights && rowsOfCopy(weights, index),
  })
  return {out: out as Float32Array, drawn}
}

/** The first of the replicates that a call has as heads. */
function firstCopies(inputs: AttendInputs<Options>, copies: number, of: number) {
  if (copies === of) return inputs
  const part = <Heads extends tf.Tensor>(x: Heads, axis: number): Heads => {
    const size = [...x.shape]
    size[axis] = (size[axis]! * copies) / of
    const zeros = x.shape.map(() => 0)
    return tf.slice(x, zeros, size)
  }
  const {query, key, value, projection} = inputs
  return {
    ...inputs,
    query: part(query, 1),
    key: part(key, 1),
    value: part(value, 1),
    projection: projection && part(projection, 0),
  }
}

type Options = Record<string, unknown>

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

/** Judges an output, and takes it into the moments of the run. */
function replicateOf(drawn: Drawn, run: Run): Replicate {
  const {request, moments, tokenMeans, projection, queries, sample} = run
  const {estimate, negativePct, guardedPct, weights} = drawn
  const exact = request.context.exactSums
  const sums = moments.add(estimate)
  tokenMeans.add(sums)
  const guards = {negative_denominators_pct: negativePct, guarded_pct: guardedPct}
  const {token_mean_rel_l2, ...all} = errorMetrics(sums, exact)
  return {
    all: {...all, ...guards},
    model: {token_mean_rel_l2, ...(projection?.add(estimate) ?? UNPROJECTED)},
    perHead: sums.map((sum, head) => errorMetrics([sum], [exact[head]!])),
    perSequence: sequenceErrors(sums, exact, request.context.input.query.shape[1]),
    queries: queries.of(estimate),
    rows: sample && weights && sample.metricsOf(weights),
  }
}

const UNPROJECTED = {projected_rel_l2: null, residual_error: null}

/** rel_l2 of each sequence. @param sums - of all heads of each sequence in turn */
function sequenceErrors(
  sums: readonly ErrorSums[],
  exact: readonly ExactSums[],
  heads: number,
): number[] {
  return Array.from({length: sums.length / heads}, (_, at) => {
    const [from, to] = [at * heads, (at + 1) * heads]
    return errorMetrics(sums.slice(from, to), exact.slice(from, to)).rel_l2
  })
}

function percent(data: ArrayLike<number>, test: (x: number) => boolean): number {
  let count = 0
  for (let i = 0; i < data.length; i++) if (test(data[i]!)) count++
  return (100 * count) / data.length
}

/** A replicate takes long: a factor of 1.5 is small enough to stop soon after the mark. */
const GROWTH = 1.5

type Metrics = readonly {
  all: Pick<OutputMetrics, keyof OutputMetrics & PrecisionMetric>
  model?: ModelErrors
}[]

/**
 * Whether the median of a metric is known well enough. A median of zero is known; one without interval, because replicates are
 * few or broken, is not.
 */
function isKnown(until: NonNullable<ErrorSweepCell['until_ci']>, replicates: Metrics): boolean {
  const own = replicates.map(({all, model}) => ({...all, ...model})[until.metric] ?? Number.NaN)
  const {median, low, high} = summarise(own)
  if (median === null || low === null || high === null) return false
  return isNarrow(median, {low, high}, until)
}

/** How many replicates there are to be next: see {@link nextReplicates}. @param replicates - those so far */
export function nextCount(
  cell: Pick<ErrorSweepCell, 'replicates' | 'until_ci'>,
  replicates: Metrics,
): number | undefined {
  return nextReplicates(cell, replicates.length, {
    factor: GROWTH,
    isKnown: () => cell.until_ci !== undefined && isKnown(cell.until_ci, replicates),
  })
}

/** What a record says of it. */
export function endOf(
  {until_ci: until}: Pick<ErrorSweepCell, 'until_ci'>,
  replicates: Metrics,
): Pick<ErrorSweepResult, 'replicates_run' | 'stopped_by'> {
  if (!until) return {replicates_run: null, stopped_by: null}
  return {
    replicates_run: replicates.length,
    stopped_by: isKnown(until, replicates) ? 'precision' : 'max_replicates',
  }
}
