/** What estimates are held against: the exact output, kept for the cells that share it, and averaging V, which needs no attention. */

import {attend, type ExactTarget} from '../../../attention/index.js'
import {
  type ExactOptions,
  exactOutput,
  exactWork,
  hasExactLoop,
  hostData,
  isCanonicalSoftmax,
} from '../../../attention/internal.js'
import {type CausalView, keysInView} from '../../../causal-view.js'
import {type AttentionInput, sizesOf} from '../../../inputs/attention-input.js'
import {tf} from '../../../tf.js'
import {averageRoundingMse} from '../../../theory/rounding.js'
import {matchedTarget, RAW_TARGET, type ResolvedMethod} from '../../method.js'
import type {ErrorSweepCell} from '../schema.js'

export function targetOf(
  {target}: Pick<ErrorSweepCell, 'target'>,
  method: ResolvedMethod,
): ExactTarget {
  return (target === 'matched' ? matchedTarget(method) : undefined) ?? RAW_TARGET
}

/** Exact output and how it was computed. */
export interface Truth {
  /** `[B, H, L, Dv]` */
  output: Float64Array
  /** `float32-tiled` where double precision would take too long; its own error is about 1e-6. */
  precision: 'float64' | 'float32-tiled'
}

/**
 * Multiply-adds beyond which softmax is computed in float32 tiles: about ten seconds in float64. For backends
 * without a separate loop for it.
 */
export const FLOAT64_BUDGET = 8e9

/**
 * Computes the exact output of the target.
 *
 * @returns besides, the entropy of each row's weights `[B, H, L]` where it came with the output and the weights are
 * softmax of the canonical inputs
 */
export function computeTruth(
  input: AttentionInput,
  options: ExactOptions,
): {truth: Truth; entropies: Float64Array | undefined} {
  const {query, key, value} = input
  const canonical = isCanonicalSoftmax(options.target)
  const loop = hasExactLoop(options.target)
  if (!loop && canonical && exactWork(query, value) > FLOAT64_BUDGET) {
    const output = tiledOutput(input, options)
    return {truth: {output, precision: 'float32-tiled'}, entropies: undefined}
  }
  const wanted = {...options, entropies: canonical}
  const {output, entropies} = exactOutput(query, key, value, wanted)
  return {truth: {output, precision: 'float64'}, entropies}
}

function tiledOutput(input: AttentionInput, options: ExactOptions): Float64Array {
  const {logitScale: scale, causal, causalAlign} = options
  const {out} = hostData(() => {
    const [query, key, value] = [input.query, input.key, input.value].map(({data, shape}) =>
      tf.tensor4d(data, shape),
    ) as [tf.Tensor4D, tf.Tensor4D, tf.Tensor4D]
    const view = {causal, ...(causalAlign && {causalAlign})}
    return {out: attend(query, key, value, {method: 'softmax-online', scale, ...view}).out}
  })
  return Float64Array.from(out)
}

/** Of sequences, one after the other; the worst of precisions. */
export function joinedTruth(truths: readonly Truth[]): Truth {
  const [first, ...others] = truths as [Truth, ...Truth[]]
  if (others.length === 0) return first
  const output = new Float64Array(truths.reduce((sum, {output}) => sum + output.length, 0))
  let end = 0
  for (const truth of truths) {
    output.set(truth.output, end)
    end += truth.output.length
  }
  const tiled = truths.find(({precision}) => precision !== 'float64')
  return {output, precision: tiled?.precision ?? 'float64'}
}

/** What averaging V gets wrong in one head of one batch element. */
export interface Yardstick {
  /** L, queries that are judged. */
  rows: number
  mse: number
  /** What rounding can make of a mean that is exact. */
  rounding: number
}

/** Mean squared error of the mean of the values in view of each query, for every head. @param exact - `[B H, L, Dv]` */
export function yardsticks(
  input: AttentionInput,
  exact: Float64Array,
  view: CausalView,
): Yardstick[] {
  const {batch, heads, queryLen, keyLen, valueDim} = sizesOf(input)
  const part = <Data extends Float32Array | Float64Array>(
    data: Data,
    head: number,
    length: number,
  ) => data.subarray(head * length * valueDim, (head + 1) * length * valueDim) as Data
  return Array.from({length: batch * heads}, (_, head) => {
    const values = part(input.value.data, head, keyLen)
    return {
      rows: queryLen,
      mse: meanValueMse(values, part(exact, head, queryLen), {
        ...{queryLen, keyLen, valueDim},
        view,
      }),
      rounding: averageRoundingMse(values, keyLen),
    }
  })
}

/** Over all heads together, each counting by its rows. */
export function overall(heads: readonly Yardstick[]): Omit<Yardstick, 'rows'> {
  const of = (name: 'mse' | 'rounding') =>
    meanByRows(
      heads,
      heads.map(head => head[name]),
    )
  return {mse: of('mse'), rounding: of('rounding')}
}

/** The mean of numbers of heads, each counting by its rows. */
export function meanByRows(
  heads: readonly Pick<Yardstick, 'rows'>[],
  numbers: readonly number[],
): number {
  const mean = heads.reduce((sum, {rows}) => sum + rows, 0) / heads.length
  const weighted = numbers.reduce((sum, x, i) => sum + x * (heads[i]!.rows / mean), 0)
  return weighted / heads.length
}

/** Median error over the yardstick's; null where averaging V is exact up to rounding: that would only compare roundings. */
export function overYardstick(
  value: number | null,
  {mse, rounding}: Omit<Yardstick, 'rows'>,
): number | null {
  return value === null || mse <= rounding ? null : value / mse
}

/** Of one head. @param values - `[S, Dv]` @param exact - `[L, Dv]` */
function meanValueMse(
  values: Float32Array,
  exact: Float64Array,
  sizes: {queryLen: number; keyLen: number; valueDim: number; view: CausalView},
): number {
  const {valueDim: dim, queryLen, view} = sizes
  const sum = new Float64Array(dim)
  let squares = 0
  let seen = 0
  for (let row = 0; row < queryLen; row++) {
    const inView = keysInView(view, sizes, row)
    for (; seen < inView; seen++) {
      for (let d = 0; d < dim; d++) sum[d]! += values[seen * dim + d]!
    }
    for (let d = 0; d < dim; d++) squares += (sum[d]! / inView - exact[row * dim + d]!) ** 2
  }
  return squares / exact.length
}
