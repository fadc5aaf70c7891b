/** Exact attention of the queries that stand for all, at every level, and keys picked by it. */
import {keysInView} from '../../causal-view.js'
import type {RandomStream} from '../../random/index.js'
import type {PositiveHead, SampledQueries} from './types.js'

/** About `wanted` queries, each in the middle of its equal part. */
export function sampledQueries(head: PositiveHead, wanted: number): SampledQueries {
  const {query, key, headDim, causal} = head
  const [queryLen, keyLen] = [query.length / headDim, key.length / headDim]
  const count = Math.min(queryLen, wanted)
  const places = Int32Array.from({length: count}, (_, i) =>
    Math.floor(((i + 0.5) * queryLen) / count),
  )
  if (!causal) {
    return {places, ends: Int32Array.of(keyLen), viewOf: new Int32Array(count)}
  }
  const seen = places.map(place => keysInView(head, {queryLen, keyLen}, place))
  const ends = Int32Array.from(new Set(seen))
  return {places, ends, viewOf: seen.map(end => ends.indexOf(end))}
}

/** Half squared lengths of vectors, `[n]`. */
export function halfSquares(vectors: Float64Array, dim: number): Float64Array {
  const out = new Float64Array(vectors.length / dim)
  for (let i = 0; i < out.length; i++) out[i] = dotAt(vectors, i, vectors, i, dim) / 2
  return out
}

/** Inner product of vector i of x and vector j of y. */
export function dotAt(x: Float64Array, i: number, y: Float64Array, j: number, dim: number): number {
  let sum = 0
  for (let d = 0, at = i * dim, to = j * dim; d < dim; d++) sum += x[at + d]! * y[to + d]!
  return sum
}

/** Exact attention of the sampled queries. */
export interface ExactRows {
  /** Outputs, `[R, Dv]`. */
  output: Float64Array
  /** ln of the sum of exponentials of the logits at each level, `[R, levels]`. */
  logSum: Float64Array
  /** Keys picked with the weights of each level, `[R, levels, picks]`. */
  picked: Int32Array
}

/**
 * @param levels - factors on queries and keys, the first of them 1: those of the outputs
 * @param picks - keys for each query and level
 */
export function exactRows(
  head: PositiveHead,
  queries: SampledQueries,
  {levels, picks, stream}: {levels: readonly number[]; picks: number; stream?: RandomStream},
): ExactRows {
  const {key, value, headDim, valueDim} = head
  const half = head.longKeysCount ? halfSquares(key, headDim) : undefined
  const count = queries.places.length
  const output = new Float64Array(count * valueDim)
  const logSum = new Float64Array(count * levels.length)
  const picked = new Int32Array(count * levels.length * picks)
  for (let i = 0; i < count; i++) {
    const end = queries.ends[queries.viewOf[i]!]!
    const logits = new Float64Array(end)
    for (let m = 0; m < end; m++) {
      logits[m] = dotAt(head.query, queries.places[i]!, key, m, headDim) + (half?.[m] ?? 0)
    }
    for (const [l, level] of levels.entries()) {
      const at = i * levels.length + l
      const {weights, log} = softmax(logits, level ** 2)
      logSum[at] = log
      for (let k = 0; k < picks; k++) picked[at * picks + k] = pick(weights, stream!.uniform())
      if (l === 0) weigh(output.subarray(i * valueDim, (i + 1) * valueDim), weights, value)
    }
  }
  return {output, logSum, picked}
}

/** Exact outputs of the sampled queries, `[R, Dv]`. */
export function exactOutputs(head: PositiveHead, queries: SampledQueries): Float64Array {
  return exactRows(head, queries, {levels: [1], picks: 0}).output
}

/** Softmax of logits times a factor, and the logarithm of its sum. */
function softmax(logits: Float64Array, factor: number): {weights: Float64Array; log: number} {
  let top = Number.NEGATIVE_INFINITY
  for (const logit of logits) top = Math.max(top, factor * logit)
  const weights = logits.map(logit => Math.exp(factor * logit - top))
  const sum = weights.reduce((total, weight) => total + weight, 0)
  return {weights: weights.map(weight => weight / sum), log: top + Math.log(sum)}
}

/** The index at which cumulated weights pass a uniform number. */
function pick(weights: Float64Array, uniform: number): number {
  let rest = uniform
  for (let m = 0; m < weights.length; m++) {
    rest -= weights[m]!
    if (rest < 0) return m
  }
  return weights.length - 1
}

function weigh(out: Float64Array, weights: Float64Array, value: PositiveHead['value']): void {
  const dim = out.length
  for (let m = 0; m < weights.length; m++) {
    const weight = weights[m]!
    for (let d = 0, at = m * dim; d < dim; d++) out[d]! += weight * value[at + d]!
  }
}
