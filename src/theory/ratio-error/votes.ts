/** What single random rows say: `f(w) = softmax_m(v.y_m - |y_m|^2/2) V`, v = b w, and how much weight that is. */
import {hostLoops, type SoftmaxRowsCall} from '../../host-loops.js'
import {dotAt, halfSquares} from './queries.js'
import type {PositiveHead} from './types.js'

/** Of every row, of the keys so far. */
export interface Votes {
  /** f(w), `[rows, Dv]`. */
  says: Float64Array
  /** ln sum_m exp(c v.y_m - c^2 |y_m|^2/2) at every level c, `[levels, rows]`. */
  logSum: Float64Array
}

/** Keys with their values. */
export type SeenKeys = Pick<
  PositiveHead,
  'key' | 'value' | 'headDim' | 'valueDim' | 'longKeysCount'
>

export interface Weighed {
  /** v of each row, `[rows, D]`. */
  rows: Float64Array
  /** Factors c on keys, the first of them 1. */
  levels: readonly number[]
}

/**
 * What rows say of the keys of one view after the other, each a run of keys more: causal views cost no more than one.
 * By the loop of the backend in use, where it has one. The arrays of the view before are overwritten.
 *
 * @param ends - keys of each view, ascending
 */
export function* votesByView(
  head: SeenKeys,
  ends: Int32Array,
  {rows, levels}: Weighed,
): Generator<Votes> {
  const {key, headDim, valueDim, longKeysCount} = head
  const half = longKeysCount ? new Float64Array(key.length / headDim) : halfSquares(key, headDim)
  const values = Float32Array.from(head.value)
  const count = rows.length / headDim
  const says = new Float64Array(count * valueDim)
  const logSum = new Float64Array(levels.length * count).fill(Number.NEGATIVE_INFINITY)
  const queries = levels.map(level => (level === 1 ? rows : rows.map(v => level * v)))
  const run = {lse: new Float64Array(count), out: new Float64Array(count * valueDim)}
  for (const [view, end] of ends.entries()) {
    const start = view === 0 ? 0 : ends[view - 1]!
    for (const [l, level] of levels.entries()) {
      const call = {
        query: queries[l]!,
        key: key.subarray(start * headDim, end * headDim),
        ...{headDim, valueDim, lse: run.lse},
        keyBias: half.subarray(start, end).map(h => -level * level * h),
        value: l === 0 ? values.subarray(start * valueDim, end * valueDim) : undefined,
        out: l === 0 ? run.out : undefined,
      }
      softmaxOf(call)
      const logs = logSum.subarray(l * count, (l + 1) * count)
      merge({logs, says: l === 0 ? says : undefined}, run)
    }
    yield {says, logSum}
  }
}

/** Takes a run into the sums so far: a mean of values weighted by exponentials, and the logarithm of their sum. */
function merge(
  {logs, says}: {logs: Float64Array; says: Float64Array | undefined},
  {lse, out}: {lse: Float64Array; out: Float64Array},
): void {
  const dim = out.length / lse.length
  for (let row = 0; row < logs.length; row++) {
    const [before, own] = [logs[row]!, lse[row]!]
    const [low, high] = before < own ? [before, own] : [own, before]
    const log = high + Math.log1p(Math.exp(low - high))
    logs[row] = log
    if (!says) continue
    const share = Math.exp(own - log)
    for (let at = row * dim; at < (row + 1) * dim; at++) says[at]! += share * (out[at]! - says[at]!)
  }
}

/** Softmax attention of one run of keys, `keyBias` added to their logits. */
type RunCall = Pick<SoftmaxRowsCall, 'headDim' | 'value' | 'valueDim' | 'out'> & {
  query: Float64Array
  key: Float64Array
  keyBias: Float64Array
  lse: Float64Array
}

/** Softmax attention over keys with a bias, by the loop of the backend in use, where it has one. */
export function softmaxOf(call: RunCall): void {
  const loop = hostLoops().softmaxRows
  const absent = {scale: undefined, logConstant: undefined, entropy: undefined}
  if (loop) loop({...call, ...absent, causal: false, excludesSelf: false})
  else inDoubles(call)
}

/** Exponentials below this share of the largest are left out of f. */
const NEGLIGIBLE = 2 ** -40

function inDoubles({query, key, headDim, keyBias, value, valueDim, out, lse}: RunCall): void {
  const weights = new Float64Array(keyBias.length)
  out?.fill(0)
  for (let row = 0; row < lse.length; row++) {
    let top = Number.NEGATIVE_INFINITY
    for (let m = 0; m < weights.length; m++) {
      weights[m] = dotAt(query, row, key, m, headDim) + keyBias[m]!
      top = Math.max(top, weights[m]!)
    }
    let sum = 0
    for (let m = 0; m < weights.length; m++) {
      weights[m] = Math.exp(weights[m]! - top)
      sum += weights[m]!
    }
    lse[row] = top + Math.log(sum)
    if (!value || !out) continue
    for (let m = 0; m < weights.length; m++) {
      const weight = weights[m]! / sum
      if (weight < NEGLIGIBLE) continue
      for (let d = 0, at = row * valueDim; d < valueDim; d++) {
        out[at + d]! += weight * value[m * valueDim + d]!
      }
    }
  }
}
