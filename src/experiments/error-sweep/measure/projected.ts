/**
 * Errors after the output projection of a layer: what its heads together add to the residual stream. Each replicate takes one
 * product `[tokens, H Dv] [H Dv, width]` in float32 and a pass over its result; bias and variance come from the same pass.
 */
import {hostData} from '../../../attention/internal.js'
import {hostLoops} from '../../../host-loops.js'
import type {AttentionArray, AttentionInput} from '../../../inputs/attention-input.js'
import {tf} from '../../../tf.js'
import type {ExactSums} from './metrics.js'
import {type ErrorSplit, momentBytes, OutputMoments, relativeTo} from './moments.js'

/** Errors of one replicate after the output projection. */
export interface ProjectedErrors {
  /** |W_O (estimate - exact)| / |W_O exact|, over all tokens. */
  projected_rel_l2: number
  /** Root mean square over tokens of |W_O (estimate - exact)|, over the norm of the residual stream; `null`: unknown. */
  residual_error: number | null
}

interface Projecting {
  input: AttentionInput
  /** The exact output, `[heads, L, Dv]` of each sequence after the other, of judged queries. */
  exact: Float64Array
  /** Of all heads of all sequences. */
  exactSums: readonly ExactSums[]
}

/** Sum over judged tokens of |W_O exact|^2; `undefined` where the input has no output projection. */
export function projectedSquares(given: Projecting): number | undefined {
  const {exact, exactSums, input} = given
  const {outputProjection} = input
  if (!outputProjection) return undefined
  const [{valueDim}] = exactSums as [ExactSums]
  const rows = joinedHeads(given, (row, d) => exact[row * valueDim + d]!)
  const weights = widened(outputProjection)
  const out = product(rows, weights)
  weights.dispose()
  return out.reduce((sum, x) => sum + x * x, 0)
}

/** Takes in the outputs of replicates. */
export class Projection {
  /** `[H Dv, width + 1]` */
  private readonly weights: tf.Tensor2D
  private readonly moments: OutputMoments
  private readonly tokens: number
  private readonly width: number
  private readonly dim: number

  /**
   * @param given - with an output projection
   * @param squares - see {@link projectedSquares}
   * @param replicates - how many there will be
   */
  constructor(
    private readonly given: Projecting & {input: {outputProjection: AttentionArray}},
    private readonly squares: number,
    replicates: number,
  ) {
    const {outputProjection} = given.input
    const [, , rows, width] = outputProjection.shape
    const [{valueDim}] = given.exactSums as [ExactSums]
    this.weights = widened(outputProjection)
    this.width = width
    this.tokens = given.exact.length / rows
    const size = {heads: 1, queryLen: this.tokens, valueDim: width}
    this.moments = new OutputMoments(new Float64Array(this.tokens * width), [size], replicates)
    this.dim = valueDim
  }

  /** Errors of one replicate. @param estimate - as the exact output, with a last column of sums of weights */
  add(estimate: Float32Array): ProjectedErrors {
    const {given, dim, tokens, squares} = this
    const {exact, input} = given
    const rows = joinedHeads(
      given,
      (row, d) => estimate[row * (dim + 1) + d]! - exact[row * dim + d]!,
    )
    const out = product(rows, this.weights)
    const [sums] = this.moments.add(out)
    hostLoops().recycle?.(out)
    const norm = input.residualNorm
    return {
      projected_rel_l2: Math.sqrt(sums!.squares / squares),
      residual_error: norm === undefined ? null : Math.sqrt(sums!.squares / tokens) / norm,
    }
  }

  /** Parts of the means over replicates of the squared errors; `residual`: where the norm is known. */
  splits(): {projected: ErrorSplit; residual: ErrorSplit | undefined} {
    const {tokens, width, squares, given} = this
    const {residualNorm: norm} = given.input
    const split = this.moments.split()
    return {
      projected: relativeTo(split, squares / (tokens * width)),
      residual: norm === undefined ? undefined : relativeTo(split, norm ** 2 / width),
    }
  }

  dispose(): void {
    this.weights.dispose()
  }
}

/** Bytes of what a cell keeps and makes for it: weights, rows of tokens before and after, and their moments. */
export function projectionBytes(
  {tokens, entries, width}: {tokens: number; entries: number; width: number},
  replicates: number,
): number {
  const [float, double] = [4, 8]
  const weights = float * (2 * width + 1) * entries
  const rows = 2 * float * tokens * (entries + width + 1)
  return weights + rows + double * tokens * width + momentBytes(tokens * width, replicates)
}

/** With a last column of zeros, where outputs have the sum of weights. */
function widened({shape: [, , rows, width], data}: AttentionArray): tf.Tensor2D {
  const out = new Float32Array(rows * (width + 1))
  for (let row = 0; row < rows; row++) {
    out.set(data.subarray(row * width, (row + 1) * width), row * (width + 1))
  }
  return tf.tensor2d(out, [rows, width + 1])
}

function product(rows: Float32Array, weights: tf.Tensor2D): Float32Array {
  const [entries] = weights.shape
  const {out} = hostData(() => ({
    out: tf.matMul(tf.tensor2d(rows, [rows.length / entries, entries]), weights),
  }))
  return out as Float32Array
}

/** Rows of tokens, `[tokens, H Dv]`. @param at - an entry of a row of a head, rows counted as in the exact output */
function joinedHeads(
  {input, exact, exactSums}: Projecting,
  at: (row: number, d: number) => number,
): Float32Array {
  const [, heads] = input.query.shape
  const [{valueDim}] = exactSums as [ExactSums]
  const width = heads * valueDim
  const out = new Float32Array(exact.length)
  let row = 0
  let token = 0
  for (const [place, {rows}] of exactSums.entries()) {
    const column = (place % heads) * valueDim
    for (let i = 0; i < rows; i++, row++) {
      for (let d = 0; d < valueDim; d++) out[(token + i) * width + column + d] = at(row, d)
    }
    if (place % heads === heads - 1) token += rows
  }
  return out
}
