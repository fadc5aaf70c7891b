/**
 * What can be said about an input without any estimator: norms, which predict the error of random
 * features, and the entropy of exact attention, which says how peaked it is. All in float64.
 */
import {type CausalView, keysBefore, keysInView} from '../causal-view.js'
import {describe, expected} from '../errors.js'
import {hostLoops} from '../host-loops.js'
import type {AttentionArray, AttentionInput} from './attention-input.js'

/** Norms and entropy of one head, or averaged over heads; named as records name them. */
export interface InputStatistics {
  /** E|x|^2, E|y|^2, E|x+y|^2, E|x-y|^2 of canonical queries and keys, over all pairs in view. */
  query_norm2: number
  key_norm2: number
  sum_norm2: number
  difference_norm2: number
  /** Mean entropy of the exact attention rows and its maximum ln(keys in view), in nats. */
  entropy_nats: number
  max_entropy_nats: number
}

/** Of all heads, and their mean. */
export interface HeadStatistics {
  overall: InputStatistics
  perHead: InputStatistics[]
}

/** How raw queries and keys become the canonical x and y, and which keys are in view. */
export interface StatisticsOptions extends CausalView {
  /** Factor on q and k, from the plan. */
  scale: number
  /** beta: logits are `beta q.k` of the scaled vectors; `1/sqrt(D)` by default elsewhere. */
  logitScale: number
}

/** The arrays that statistics need. */
type QueryKey = Pick<AttentionInput, 'query' | 'key'>

/**
 * Multiply-adds that the entropy of an input may take (2 to 3 seconds) where the backend has no loop for it;
 * beyond, some of the rows are taken.
 */
export const ENTROPY_BUDGET = 2e9

/** What the exponential of a logit costs, in multiply-adds. */
const EXPONENTIAL_COST = 8

/** Rows per head that an estimated entropy takes at least. */
const MIN_ENTROPY_ROWS = 32

/** Where entropies come from. */
interface EntropySource {
  /** Those of all rows `[B, H, L]`, in nats, where they are known. */
  entropies?: Float64Array | undefined
  /** Multiply-adds that they may take; default {@link ENTROPY_BUDGET}. */
  budget?: number
}

/**
 * Norms and entropy of every head and on average.
 *
 * Norms are exact means over all pairs of a query and a key in its view, at `O((L + S) D)`: in a
 * causal input a query counts once per key that it sees, and a key once per query that sees it.
 * The entropy is the mean over query rows; when all rows would take more than the budget, and the backend in use
 * has no loop for them, it is the mean over evenly spaced rows instead (at least 32 of each head), and so is its
 * maximum.
 *
 * @param input - query `[B, H, L, D]`, key `[B, H, S, D]`
 * @param options - see {@link StatisticsOptions}
 * @param source - see {@link EntropySource}
 * @returns per head `h` the mean over the batch; `overall` the mean over the heads
 * @throws {BAD_OPTION} unless scale and logitScale are positive numbers
 */
export function inputStatistics(
  input: QueryKey,
  options: StatisticsOptions,
  {entropies, budget = ENTROPY_BUDGET}: EntropySource = {},
): HeadStatistics {
  checkOptions(options)
  const [batch, heads, queryLen, headDim] = input.query.shape
  const rowWork = input.key.shape[2] * (headDim + EXPONENTIAL_COST)
  const affordable = budget / (batch * heads * rowWork)
  const lengths = {queryLen, keyLen: input.key.shape[2]}
  const loop = hostLoops().softmaxRows !== undefined && keysBefore(options, lengths) === 0
  const all = entropies !== undefined || loop
  const wanted = all ? queryLen : Math.max(MIN_ENTROPY_ROWS, affordable)
  const rows = evenlySpaced(queryLen, wanted)
  const perHead: InputStatistics[] = []
  for (let h = 0; h < heads; h++) {
    const ofBatches: InputStatistics[] = []
    for (let b = 0; b < batch; b++) {
      const at = b * heads + h
      const known = entropies?.subarray(at * queryLen, (at + 1) * queryLen)
      ofBatches.push(headStatistics(headOf(input, at, options), options, {rows, known, loop}))
    }
    perHead.push(meanRecord(ofBatches))
  }
  return {overall: meanRecord(perHead), perHead}
}

/** The mean over inputs of equally many heads, each counting once whatever its length. */
export function meanStatistics(inputs: readonly HeadStatistics[]): HeadStatistics {
  const [first, ...others] = inputs as [HeadStatistics, ...HeadStatistics[]]
  if (others.length === 0) return first
  const perHead = first.perHead.map((_, head) => meanRecord(inputs.map(own => own.perHead[head]!)))
  return {overall: meanRecord(perHead), perHead}
}

/**
 * Entropy of exact attention rows of one head, in nats.
 *
 * @param input - query `[B, H, L, D]`, key `[B, H, S, D]`
 * @param head - `b * H + h`
 * @param rows - query positions
 * @returns one entropy per row, in [0, ln(keys in view)]
 */
export function rowEntropies(
  input: QueryKey,
  head: number,
  options: StatisticsOptions,
  rows: readonly number[],
): Float64Array {
  checkOptions(options)
  return entropies(headOf(input, head, options), options, rows)
}

/** One head as it was given, with the factor that makes its vectors canonical: `x = scale sqrt(beta) q`, `y` likewise. */
interface Head {
  /** `[L, D]` and `[S, D]` */
  query: Float32Array
  key: Float32Array
  factor: number
  queryLen: number
  keyLen: number
  headDim: number
}

/** @param head - `b * H + h` */
function headOf({query, key}: QueryKey, head: number, options: StatisticsOptions): Head {
  const part = ({shape, data}: AttentionArray) => {
    const size = shape[2] * shape[3]
    return data.subarray(head * size, (head + 1) * size)
  }
  const [, , queryLen, headDim] = query.shape
  const factor = options.scale * Math.sqrt(options.logitScale)
  return {query: part(query), key: part(key), factor, queryLen, keyLen: key.shape[2], headDim}
}

/** Canonical vectors: their products are the logits. */
function canonical(vectors: Float32Array, factor: number): Float64Array {
  const scaled = new Float64Array(vectors)
  for (let i = 0; i < scaled.length; i++) scaled[i]! *= factor
  return scaled
}

/** All statistics of one head; `|x + y|^2` and `|x - y|^2` follow from the means of |x|^2, |y|^2 and x.y. */
function headStatistics(
  head: Head,
  view: CausalView,
  {rows, known, loop}: {rows: readonly number[]; known: Float64Array | undefined; loop: boolean},
): InputStatistics {
  const {query, key, inner} = pairMeans(head, view)
  const entropy = known ?? (loop ? allEntropies(head, view) : entropies(head, view, rows))
  const maxima = rows.map(row => Math.log(keysInView(view, head, row)))
  return {
    query_norm2: query,
    key_norm2: key,
    sum_norm2: query + key + 2 * inner,
    difference_norm2: query + key - 2 * inner,
    entropy_nats: mean(entropy),
    max_entropy_nats: mean(maxima),
  }
}

/**
 * Means of |x|^2, |y|^2 and x.y over all pairs in view, from running sums over the keys: a query
 * pairs with the sum of the keys in its view.
 */
function pairMeans(head: Head, view: CausalView) {
  const {query: x, key: y, factor, queryLen, headDim} = head
  const keySum = new Float64Array(headDim)
  let keyNorms = 0
  let seen = 0
  const total = {query: 0, key: 0, inner: 0, pairs: 0}
  for (let i = 0; i < queryLen; i++) {
    for (const end = keysInView(view, head, i); seen < end; seen++) {
      let norm = 0
      for (let d = 0; d < headDim; d++) {
        const element = y[seen * headDim + d]!
        keySum[d]! += element
        norm += element * element
      }
      keyNorms += norm
    }
    let norm = 0
    let inner = 0
    for (let d = 0; d < headDim; d++) {
      const element = x[i * headDim + d]!
      norm += element * element
      inner += element * keySum[d]!
    }
    total.inner += inner
    total.query += seen * norm
    total.key += keyNorms
    total.pairs += seen
  }
  const mean = (sum: number) => (factor ** 2 * sum) / total.pairs
  return {query: mean(total.query), key: mean(total.key), inner: mean(total.inner)}
}

/** Those of all rows, by the loop of the backend in use. */
function allEntropies(head: Head, {causal}: CausalView): Float64Array {
  const {query, key, factor, queryLen, headDim} = head
  const entropy = new Float64Array(queryLen)
  const absent = {keyBias: undefined, logConstant: undefined, value: undefined, out: undefined}
  const rest = {headDim, valueDim: 0, causal, excludesSelf: false, lse: undefined}
  hostLoops().softmaxRows!({query, key, scale: factor, ...absent, ...rest, entropy})
  return entropy
}

/** `H = ln Z - sum_j p_j (l_j - max)` with `Z = sum_j exp(l_j - max)`: no logarithm of a vanished weight. */
function entropies(head: Head, seen: CausalView, rows: readonly number[]): Float64Array {
  const {factor, keyLen, headDim} = head
  const [x, y] = [canonical(head.query, factor), canonical(head.key, factor)]
  const logits = new Float64Array(keyLen)
  return Float64Array.from(rows, row => {
    const view = keysInView(seen, head, row)
    let max = -Infinity
    for (let j = 0; j < view; j++) {
      let logit = 0
      for (let d = 0; d < headDim; d++) logit += x[row * headDim + d]! * y[j * headDim + d]!
      logits[j] = logit
      if (logit > max) max = logit
    }
    let sum = 0
    let weighted = 0
    for (let j = 0; j < view; j++) {
      const weight = Math.exp(logits[j]! - max)
      sum += weight
      weighted += weight * (logits[j]! - max)
    }
    return Math.log(sum) - weighted / sum
  })
}

/** About `wanted` of the positions 0..length-1, each in the middle of its equal part; all when wanted >= length. */
export function evenlySpaced(length: number, wanted: number): number[] {
  const count = Math.min(length, Math.max(1, Math.floor(wanted)))
  return Array.from({length: count}, (_, i) => Math.floor(((i + 0.5) * length) / count))
}

/** Field by field: every batch and head has equally many pairs and rows. */
function meanRecord(records: readonly InputStatistics[]): InputStatistics {
  const of = (field: keyof InputStatistics) => mean(records.map(record => record[field]))
  return {
    query_norm2: of('query_norm2'),
    key_norm2: of('key_norm2'),
    sum_norm2: of('sum_norm2'),
    difference_norm2: of('difference_norm2'),
    entropy_nats: of('entropy_nats'),
    max_entropy_nats: of('max_entropy_nats'),
  }
}

function mean(values: ArrayLike<number>): number {
  let sum = 0
  for (let i = 0; i < values.length; i++) sum += values[i]!
  return sum / values.length
}

function checkOptions({scale, logitScale}: StatisticsOptions): void {
  for (const [name, value] of Object.entries({scale, logitScale})) {
    if (!(value > 0 && Number.isFinite(value))) {
      const where = `input statistics, ${name}`
      throw expected('BAD_OPTION', where, 'a positive number', describe(value))
    }
  }
}
