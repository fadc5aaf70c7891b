/** How far an output is off exact attention, by the metrics of error sweeps. */
import {exactWork, hasExactLoop} from '../attention/internal.js'
import type {CausalView} from '../causal-view.js'
import {RfaError} from '../errors.js'
import {errorMetrics, exactSums} from '../experiments/error-sweep/measure/metrics.js'
import {OutputMoments, runsOfHeads} from '../experiments/error-sweep/measure/moments.js'
import {Projection, projectedSquares} from '../experiments/error-sweep/measure/projected.js'
import {
  computeTruth,
  FLOAT64_BUDGET,
  joinedTruth,
} from '../experiments/error-sweep/measure/truth.js'
import {RAW_TARGET} from '../experiments/method.js'
import {type AttentionArray, type AttentionInput, sizesOf} from '../inputs/attention-input.js'
import {judgedRows, partsInView} from '../inputs/masked-tokens.js'
import {finiteOrNull} from '../stats/index.js'
import type {AppliedErrors} from './record.js'

/** How the output was computed. */
interface Computed {
  /** beta */
  scale: number
  view: CausalView
}

/**
 * Errors of an output against softmax attention of the same input in double precision, over queries that the key mask leaves.
 *
 * @param out - `[B, H, L, Dv]`
 * @returns `null` where exact attention would take long (about a second), or the key mask leaves it no causal order
 */
export function outputErrors(
  input: AttentionInput,
  out: AttentionArray,
  {scale, view}: Computed,
): AppliedErrors | null {
  const most = hasExactLoop(RAW_TARGET) ? FLOAT64_BUDGET : FLOAT64_BUDGET / 8
  if (exactWork(input.query, input.value) > most) return null
  const truth = truthOf(input, {scale, view})
  if (!truth) return null
  const {valueDim} = sizesOf(input)
  const estimate = judgedRows(input)(withSums(out.data, valueDim), valueDim + 1)
  const sums = new OutputMoments(truth.exact, runsOfHeads(truth.exactSums), 1).add(estimate)
  const {rel_l2, token_mean_rel_l2} = errorMetrics(sums, truth.exactSums)
  return {
    rel_l2: finiteOrNull(rel_l2),
    token_mean_rel_l2: finiteOrNull(token_mean_rel_l2),
    ...projectedErrors(input, estimate, truth),
  }
}

type Truth = ReturnType<typeof exactParts>

/** The exact output; `undefined` where a key mask leaves no causal order. */
function truthOf(input: AttentionInput, computed: Computed): Truth | undefined {
  try {
    return exactParts(input, computed)
  } catch (error) {
    if (error instanceof RfaError && error.code === 'UNSUPPORTED') return undefined
    throw error
  }
}

/** Sequence by sequence where there is a mask. */
function exactParts(input: AttentionInput, {scale: logitScale, view}: Computed) {
  const parts = Array.from(partsInView(input, view), part => {
    const {truth} = computeTruth(part, {target: RAW_TARGET, logitScale, ...view})
    const {batch, heads, valueDim} = sizesOf(part)
    return {truth, sums: exactSums(truth.output, batch * heads, valueDim)}
  })
  const {output: exact} = joinedTruth(parts.map(({truth}) => truth))
  return {exact, exactSums: parts.flatMap(({sums}) => sums)}
}

function projectedErrors(input: AttentionInput, estimate: Float32Array, truth: Truth) {
  const squares = projectedSquares({input, ...truth})
  const {outputProjection} = input
  if (!outputProjection || squares === undefined) {
    return {projected_rel_l2: null, residual_error: null}
  }
  const projection = new Projection({input: {...input, outputProjection}, ...truth}, squares, 1)
  const {projected_rel_l2, residual_error} = projection.add(estimate)
  projection.dispose()
  return {
    projected_rel_l2: finiteOrNull(projected_rel_l2),
    residual_error: finiteOrNull(residual_error),
  }
}

/** Rows with a last column of ones: sums of weights are not judged. */
function withSums(data: Float32Array, dim: number): Float32Array {
  const rows = data.length / dim
  const out = new Float32Array(rows * (dim + 1)).fill(1)
  for (let row = 0; row < rows; row++) {
    out.set(data.subarray(row * dim, (row + 1) * dim), row * (dim + 1))
  }
  return out
}
