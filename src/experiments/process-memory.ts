/**
 * Resident memory of the process of a cell, predicted from what it holds: the runtime with its backend, arrays
 * on the host, tensors, and what the garbage collector has not come to yet. `bench/predictions.ts` holds it
 * against measured peaks.
 */
import type {CallShape} from '../attention/index.js'
import {footprint, type MeteredBackend} from '../attention/internal.js'
import {momentBytes} from './error-sweep/moments.js'
import type {ForwardShape, ResolvedMethod} from './method.js'

const FLOAT = 4
const DOUBLE = 8

/** Bytes of a process that has loaded its backend and run a tiny cell. */
const RUNTIME: Record<MeteredBackend, number> = {
  native: 115e6,
  tensorflow: 115e6,
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
    pairs: count * queryLen * keyLen,
    square: keyLen * keyLen,
    squares: count * keyLen * keyLen,
  }
}

/** Arrays of one context of a sweep: input, scaled queries and keys, exact output and mean value. */
export function contextBytes(shape: ForwardShape, scale: number): number {
  const {queries, keys, values, outputs} = counts(shape)
  const copies = scale === 1 ? 1 : 2
  return FLOAT * (copies * (queries + keys) + values) + 2 * DOUBLE * outputs
}

/**
 * Peak of the process of a sweep's cell.
 *
 * @param contexts - bytes of the contexts that it keeps, its own among them
 */
export function sweepProcessBytes(
  {backend, method, shape}: ProcessOfCell,
  {contexts, replicates, rowMetrics}: {contexts: number; replicates: number; rowMetrics: boolean},
): number {
  const {queries, keys, values, outputs, pairs, square, squares} = counts(shape)
  const rowsOut = shape.batch * shape.heads * shape.queryLen
  const {estimator, options} = method
  const call = (valueDim: number) => footprint(estimator, options, {...shape, valueDim}, backend)
  const ones = values + values / shape.valueDim
  const widened = outputs + rowsOut
  const run = call(shape.valueDim + 1)
  const identity = FLOAT * (square + squares)
  const rows = rowMetrics ? identity + call(shape.keyLen) : 0
  const host = contexts + momentBytes(replicates) * outputs + (rowMetrics ? DOUBLE * pairs : 0)
  const tensors = FLOAT * (ones + (backend === 'wasm' ? queries + keys : 0))
  const made = run + rows + FLOAT * widened
  const read = FLOAT * (backend === 'wasm' ? widened + (rowMetrics ? pairs : 0) : 0)
  return (
    RUNTIME[backend] +
    host +
    tensors +
    Math.max(run, rows) +
    left(backend, {made, read}, replicates)
  )
}

/** What earlier repetitions have left, where the collector has not come to it. */
function left(
  backend: MeteredBackend,
  {made, read}: {made: number; read: number},
  repetitions: number,
): number {
  const each = backend === 'wasm' ? read : made
  return Math.min((repetitions - 1) * each, UNCOLLECTED)
}

/**
 * Peak of the process of a benchmark's cell: its inputs, on tfjs-wasm in a heap of its own too, drawn in double
 * precision, and one forward.
 *
 * @param repetitions - forwards
 */
export function benchProcessBytes(
  {backend, method, shape}: ProcessOfCell,
  repetitions: number,
): number {
  const {queries, keys, values} = counts(shape)
  const inputs = FLOAT * (queries + keys + values)
  const run = footprint(method.estimator, method.options, shape, backend)
  const dropped = 2 * inputs + left(backend, {made: run, read: 0}, repetitions)
  const heap = backend === 'wasm' ? inputs : 0
  return RUNTIME[backend] + inputs + heap + run + Math.min(dropped, UNCOLLECTED)
}
