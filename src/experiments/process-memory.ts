/**
 * Resident memory of the process of a cell, predicted from what it holds: the runtime with its backend, arrays
 * on the host, tensors, and what the garbage collector has not come to yet. `bench/predictions.ts` holds it
 * against measured peaks.
 */
import type {CallShape} from '../attention/index.js'
import {footprint, type MeteredBackend} from '../attention/internal.js'
import {momentBytes} from './error-sweep/moments.js'
import {rowMetricBytes, tileKeys} from './error-sweep/row-sizes.js'
import type {ForwardShape, ResolvedMethod} from './method.js'

const FLOAT = 4
const DOUBLE = 8

/** Bytes of a process that has loaded its backend and run a tiny cell. */
const RUNTIME: Record<MeteredBackend, number> = {
  native: 115e6,
  tensorflow: 338e6,
  wasm: 130e6,
  cpu: 122e6,
}

/** Memory of a process before it computes anything of size. */
export function runtimeBytes(backend: MeteredBackend): number {
  return RUNTIME[backend]
}

/** Host arrays that a process lets go of are collected when about so many bytes of them have come together. */
const UNCOLLECTED = 64e6

/** The calls of a cell. */
export interface ProcessOfCell {
  backend: MeteredBackend
  method: ResolvedMethod
  shape: CallShape
}

/** Numbers of rows and pairs over all heads. */
function counts({batch, heads, queryLen, keyLen, headDim, valueDim}: ForwardShape) {
  const count = batch * heads
  return {
    queries: count * queryLen * headDim,
    keys: count * keyLen * headDim,
    values: count * keyLen * valueDim,
    outputs: count * queryLen * valueDim,
  }
}

/** Arrays of one context of a sweep: the input with scaled queries and keys, and the exact output. */
export function contextBytes(shape: ForwardShape, scale: number): {input: number; truth: number} {
  const {queries, keys, values, outputs} = counts(shape)
  const copies = scale === 1 ? 1 : 2
  return {input: FLOAT * (copies * (queries + keys) + values), truth: DOUBLE * outputs}
}

/**
 * What the exact output takes beside its context: queries and keys of one head in double precision, and on
 * `native` its keys and values as the loop packs them.
 */
function truthBytes(backend: MeteredBackend, shape: ForwardShape): number {
  const {queries, keys, values} = counts({...shape, batch: 1, heads: 1})
  return DOUBLE * (queries + keys + (backend === 'native' ? keys + values : 0))
}

/** What a cell of a sweep does beside its call. */
export interface SweepCalls {
  /** Bytes of the contexts that its process keeps, its own among them. */
  contexts: number
  /** Bytes that loading the input takes at its peak. */
  loading: number
  /** There is a key mask: what it leaves is copied out of the input for the exact output, and out of each output. */
  masked: boolean
  replicates: number
  /** How many of them make one call. */
  together: number
  rowMetrics: boolean
}

/** Peak of the process of a sweep's cell. */
export function sweepProcessBytes(
  {backend, method, shape}: ProcessOfCell,
  {contexts, loading, masked, replicates, together, rowMetrics}: SweepCalls,
): number {
  const {queries, keys, values, outputs} = counts(shape)
  const heads = together * shape.heads
  const {estimator, options} = method
  const call = (valueDim: number) =>
    footprint(estimator, options, {...shape, heads, valueDim}, backend)
  const perValue = (shape.valueDim + 1) / shape.valueDim
  const widened = together * outputs * perValue
  const run = call(shape.valueDim + 1)
  const tile = rowMetrics ? tileKeys(shape) : 0
  const identity = FLOAT * shape.batch * shape.heads * shape.keyLen * tile
  const rows = rowMetrics ? identity + call(tile) : 0
  const estimated = shape.batch * shape.heads * shape.queryLen * tile
  const host =
    momentBytes(outputs, replicates) + (rowMetrics ? rowMetricBytes(shape, replicates) : 0)
  // queries and keys of a single replicate are the context's own where the backend computes on the host
  const copied = together > 1 || backend === 'wasm' ? queries + keys : 0
  const tensors = FLOAT * together * (values * perValue + copied)
  const made = run + rows + FLOAT * widened
  const read = FLOAT * (backend === 'wasm' ? widened + estimated : 0)
  const calls = Math.ceil(replicates / together)
  const takenOut = masked ? FLOAT * (widened + estimated) : 0
  const judging =
    host + tensors + Math.max(run, rows) + takenOut + uncollected(backend, {made, read}, calls)
  // of what was read, only the input itself stays
  const passing = Math.max(0, loading - FLOAT * (queries + keys + values))
  const inView = masked ? FLOAT * (queries + keys + values) : 0
  const truth = truthBytes(backend, shape) + inView
  const working = Math.max(judging, truth) + Math.min(passing, UNCOLLECTED)
  return RUNTIME[backend] + contexts + Math.max(working, passing)
}

/** What earlier repetitions have left, where the collector has not come to it. */
function uncollected(
  backend: MeteredBackend,
  {made, read}: {made: number; read: number},
  repetitions: number,
): number {
  const each = backend === 'wasm' ? read : made
  return Math.min((repetitions - 1) * each, UNCOLLECTED)
}

/**
 * Peak of the process of a benchmark's cell: its inputs, on tfjs-wasm in a heap of its own too, and one forward.
 *
 * @param repetitions - forwards
 * @param keyHeads - heads of keys and values as they are given; fewer are repeated in each forward. Default: all
 */
export function benchProcessBytes(
  {backend, method, shape}: ProcessOfCell,
  repetitions: number,
  keyHeads = shape.heads,
): number {
  const {queries, keys, values} = counts(shape)
  const copied = keyHeads === shape.heads ? 0 : FLOAT * (keys + values)
  const inputs = FLOAT * (queries + ((keys + values) * keyHeads) / shape.heads)
  const run = copied + footprint(method.estimator, method.options, shape, backend)
  const heap = backend === 'wasm' ? inputs : 0
  return (
    RUNTIME[backend] + inputs + heap + run + uncollected(backend, {made: run, read: 0}, repetitions)
  )
}

/**
 * Peak of the process of a decode: its state, and on backends that make a new one for each token, those that the collector has
 * not come to.
 *
 * @param state - bytes after the last token
 * @param repetitions - decodes
 */
export function decodeProcessBytes(
  backend: MeteredBackend,
  state: number,
  repetitions: number,
): number {
  const made = backend === 'native' ? state : Number.POSITIVE_INFINITY
  return RUNTIME[backend] + 2 * state + uncollected(backend, {made, read: made}, repetitions + 1)
}

/** Most calls that are counted for one plan; each takes a good part of a millisecond. */
const MOST_COUNTED = 4000

/**
 * Memory, or another count, of the cells of one method and length by their numbers of features. Of a plan with very
 * many, some are counted, from the least to the most; one in between takes what the larger of its neighbours takes.
 *
 * @param share - calls of the plan: this one's part of {@link MOST_COUNTED} is one of so many
 * @param countOf - of a cell with so many features, such as the peak of its process
 */
export function byCount(
  counts: readonly (number | null)[],
  share: number,
  countOf: (count: number | null) => number,
): number[] {
  const most = Math.max(2, Math.floor(MOST_COUNTED / share))
  if (counts.length <= most) return counts.map(countOf)
  const places = counts.map((_, place) => place).sort((a, b) => (counts[a] ?? 0) - (counts[b] ?? 0))
  const all = new Array<number>(counts.length)
  let low = 0
  all[places[0]!] = countOf(counts[places[0]!]!)
  for (let sample = 1; sample < most; sample++) {
    const high = Math.round((sample * (counts.length - 1)) / (most - 1))
    const ends = [all[places[low]!]!, countOf(counts[places[high]!]!)] as const
    for (let rank = low + 1; rank < high; rank++) all[places[rank]!] = Math.max(...ends)
    all[places[high]!] = ends[1]
    low = high
  }
  return all
}
