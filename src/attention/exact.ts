/** The exact output by the fastest way there is in double precision; `reference.ts` is its judge. */
import {type CausalView, keysBefore} from '../causal-view.js'
import {type ArcCosineRowsCall, hostLoops} from '../host-loops.js'
import type {TargetKernel} from '../theory/target-kernel.js'
import {TARGET_KERNELS} from '../theory/target-kernels.js'
import {
  type ExactOptions,
  exactAttention,
  type HostArray,
  headRoom,
  lengthsOf,
  rowConstant,
  type TargetHead,
  targetHead,
} from './reference.js'
import type {ExactTarget} from './types.js'

/** Exact attention, double precision. */
export interface ExactOutput {
  /** `[B, H, L, Dv]` */
  output: Float64Array
  /** Entropy of each row's weights in nats, `[B, H, L]`, where it was asked for and came with the output. */
  entropies: Float64Array | undefined
}

/** Whether a backend may have a loop for a target: a softmax, plain or with a bias for each key, or an arc-cosine. */
export function hasLoopForm({kernel}: Pick<ExactTarget, 'kernel'>): boolean {
  return isBiasedSoftmax(kernel) || kernel === 'arc-cosine'
}

function isBiasedSoftmax(kernel: ExactTarget['kernel']): boolean {
  const {keyBias}: TargetKernel = TARGET_KERNELS[kernel]
  return keyBias !== undefined
}

/** Whether a target's weights are softmax of the canonical inputs and nothing else. */
export function isCanonicalSoftmax(target: ExactTarget): boolean {
  const {kernel, inputs, inputScale, constant, dimensionScale, excludesSelf} = target
  const plain = !constant && !dimensionScale && !excludesSelf && inputScale === 1
  return plain && kernel === 'softmax' && inputs === 'canonical'
}

/** What is asked of a loop for one head. */
interface HeadRows {
  head: TargetHead | GivenHead
  headDim: number
  valueDim: number
  value: Float32Array
  out: Float64Array
  entropy: Float64Array | undefined
}

/** The loop of the backend in use for a target, as a function of one head. */
function loopFor(target: ExactTarget, causal: boolean): ((rows: HeadRows) => void) | undefined {
  const {softmaxRows, arcCosineRows} = hostLoops()
  const view = {causal, excludesSelf: target.excludesSelf ?? false}
  if (isBiasedSoftmax(target.kernel) && softmaxRows) {
    return rows => softmaxRows({...softmaxHead(rows, target), ...view})
  }
  if (target.kernel === 'arc-cosine' && arcCosineRows) {
    return rows => arcCosineHead(rows, call => arcCosineRows({...call, ...view}))
  }
  return undefined
}

/** Whether {@link exactOutput} has a loop of the backend in use for a target. */
export function hasExactLoop(target: ExactTarget): boolean {
  return loopFor(target, false) !== undefined
}

/**
 * Exact attention output, by the loop of the backend in use where it has one for the target, else row by row.
 *
 * @param query - `[B, H, L, D]`, raw
 * @param key - `[B, H, S, D]`, raw
 * @param value - `[B, H, S, Dv]`
 * @param options - what {@link exactAttention} takes, and whether entropies are wanted; of weights without the
 *   target's constant
 */
export function exactOutput(
  query: HostArray,
  key: HostArray,
  value: HostArray,
  options: ExactOptions & {entropies?: boolean},
): ExactOutput {
  // the first query of a loop sees one key: those that come before have blank queries
  const {rows, own} = withBlankRows(query, key, options)
  const {output, entropies} = outputFromStart(rows, key, value, options)
  return {output: own(output), entropies: entropies && own(entropies)}
}

/** Queries behind a blank one for each key before that of the first of them, and their own part of what comes of all. */
function withBlankRows(query: HostArray, key: HostArray, view: CausalView) {
  const [batch, heads, queryLen, dim] = query.shape
  const before = keysBefore(view, {queryLen, keyLen: key.shape[2]})
  const length = before + queryLen
  if (before === 0) return {rows: query, own: (all: Float64Array) => all}
  const size = batch * heads * length * dim
  const data = query.data instanceof Float32Array ? new Float32Array(size) : new Float64Array(size)
  for (let head = 0; head < batch * heads; head++) {
    const given = query.data.subarray(head * queryLen * dim, (head + 1) * queryLen * dim)
    data.set(given, (head * length + before) * dim)
  }
  const own = (all: Float64Array) => {
    const width = all.length / (batch * heads * length)
    const out = new Float64Array(batch * heads * queryLen * width)
    for (let head = 0; head < batch * heads; head++) {
      const [from, end] = [(head * length + before) * width, (head + 1) * length * width]
      out.set(all.subarray(from, end), head * queryLen * width)
    }
    return out
  }
  return {rows: {shape: [batch, heads, length, dim] as const, data}, own}
}

function outputFromStart(
  query: HostArray,
  key: HostArray,
  value: HostArray,
  options: ExactOptions & {entropies?: boolean},
): ExactOutput {
  const loop = loopFor(options.target, options.causal)
  const values = value.data
  if (!loop || !(values instanceof Float32Array)) {
    return {output: exactAttention(query, key, value, options), entropies: undefined}
  }
  const [batch, heads, queryLen] = query.shape
  const [, , keyLen, valueDim] = value.shape
  const output = new Float64Array(batch * heads * queryLen * valueDim)
  const wanted = options.entropies && isBiasedSoftmax(options.target.kernel)
  const entropies = wanted ? new Float64Array(batch * heads * queryLen) : undefined
  const headOf = headSource(query, key, options)
  for (let head = 0; head < batch * heads; head++) {
    const rowsOf = (array: Float64Array, columns: number) =>
      array.subarray(head * queryLen * columns, (head + 1) * queryLen * columns)
    loop({
      head: headOf(head),
      headDim: query.shape[3],
      value: values.subarray(head * keyLen * valueDim, (head + 1) * keyLen * valueDim),
      valueDim,
      out: rowsOf(output, valueDim),
      entropy: entropies && rowsOf(entropies, 1),
    })
  }
  return {output, entropies}
}

/** Vectors of one head as they were given, with the factor that makes them those of the target. */
interface GivenHead {
  query: Float32Array
  key: Float32Array
  scale: number
}

/** The vectors of each head: as they were given where a common factor is all that the target asks for. */
function headSource(
  query: HostArray,
  key: HostArray,
  options: ExactOptions,
): (head: number) => TargetHead | GivenHead {
  const {target, logitScale} = options
  const {kernel, inputs, inputScale, constant, dimensionScale} = target
  const plain = kernel === 'softmax' && inputs === 'canonical' && !constant && !dimensionScale
  const [queries, keys] = [query.data, key.data]
  if (plain && queries instanceof Float32Array && keys instanceof Float32Array) {
    const scale = inputScale * Math.sqrt(logitScale)
    const part = (data: Float32Array, {shape}: HostArray, head: number) => {
      const size = shape[2] * shape[3]
      return data.subarray(head * size, (head + 1) * size)
    }
    return head => ({query: part(queries, query, head), key: part(keys, key, head), scale})
  }
  const room = headRoom(query, key)
  return head => targetHead(query, key, head, options, room)
}

/** One head's vectors with biases and constants. */
function softmaxHead({head, ...rows}: HeadRows, target: ExactTarget) {
  const {keyBias}: TargetKernel = TARGET_KERNELS[target.kernel]
  if ('scale' in head) {
    return {...rows, ...head, keyBias: undefined, logConstant: undefined, lse: undefined}
  }
  return {
    ...rows,
    scale: undefined,
    query: head.x,
    key: head.keys.vectors,
    keyBias: head.keys.lengths.map(length => keyBias!(length)),
    logConstant: target.constant
      ? lengthsOf(head.x, rows.headDim).map(length => rowConstant(target, length))
      : undefined,
    lse: undefined,
  }
}

/** One head as unit vectors and lengths; a query of zeros has no weights, and its output is zero. */
function arcCosineHead(
  {head, entropy: _, ...rows}: HeadRows,
  loop: (call: Omit<ArcCosineRowsCall, 'causal' | 'excludesSelf'>) => void,
): void {
  const {x, keys} = head as TargetHead // never as they were given
  const {headDim, valueDim, out} = rows
  const lengths = lengthsOf(x, headDim)
  divideRows(x, lengths)
  divideRows(keys.vectors, keys.lengths)
  loop({...rows, query: x, key: keys.vectors, keyLength: keys.lengths})
  lengths.forEach((length, row) => {
    if (length === 0) out.fill(0, row * valueDim, (row + 1) * valueDim)
  })
}

/** Makes vectors of a length unit vectors. */
function divideRows(vectors: Float64Array, lengths: Float64Array): void {
  const dim = vectors.length / lengths.length
  for (let row = 0; row < lengths.length; row++) {
    const length = lengths[row]!
    if (length === 0) continue
    for (let d = row * dim; d < (row + 1) * dim; d++) vectors[d]! /= length
  }
}
