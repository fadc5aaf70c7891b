/**
 * The judge: exact attention in plain double-precision loops, one row at a time, for every kernel
 * that an estimator converges to. No backend, no tensors.
 */
import {type CausalView, keysBefore, keysInView} from '../causal-view.js'
import {describe, expected} from '../errors.js'
import type {TargetKernel} from '../theory/target-kernel.js'
import {TARGET_KERNELS} from '../theory/target-kernels.js'
import type {ExactTarget} from './types.js'

/** An array on the host, `[B, H, L, D]`, row-major. */
export interface HostArray {
  shape: readonly [number, number, number, number]
  data: Float32Array | Float64Array
}

/** What {@link forEachExactRow} needs in addition to the arrays. */
export interface ExactOptions extends CausalView {
  target: ExactTarget
  /** beta of canonical inputs. */
  logitScale: number
}

/** Visits every row of exact attention weights, normalised; `weights` is reused between rows. */
export function forEachExactRow(
  query: HostArray,
  key: HostArray,
  options: ExactOptions,
  visit: (row: number, head: number, weights: Float64Array) => void,
): void {
  const queryLen = query.shape[2]
  const buffer = new Float64Array(key.shape[2])
  forEachRow(query, key, options, (place, row, seen) => {
    const weights = buffer.subarray(0, seen)
    kernelRow(weights, row)
    visit(place % queryLen, Math.floor(place / queryLen), weights)
  })
}

/**
 * Exact attention output.
 *
 * @param query - `[B, H, L, D]`, raw
 * @param key - `[B, H, S, D]`, raw
 * @param value - `[B, H, S, Dv]`
 * @returns `[B, H, L, Dv]`, double precision
 * @throws {BAD_OPTION} for anything but an array with a shape of four axes, or a target
 */
export function exactAttention(
  query: HostArray,
  key: HostArray,
  value: HostArray,
  options: ExactOptions,
): Float64Array {
  checkArrays({query, key, value})
  if (typeof options?.target !== 'object' || options.target === null) {
    const where = 'exactAttention.options.target'
    throw expected('BAD_OPTION', where, 'a target', describe(options?.target))
  }
  const [batch, heads, queryLen] = query.shape
  const [, , keyLen, valueDim] = value.shape
  const out = new Float64Array(batch * heads * queryLen * valueDim)
  forEachExactRow(query, key, options, (row, head, weights) => {
    const target = out.subarray((head * queryLen + row) * valueDim).subarray(0, valueDim)
    for (let j = 0; j < weights.length; j++) {
      const weight = weights[j]!
      const base = (head * keyLen + j) * valueDim
      for (let d = 0; d < valueDim; d++) target[d]! += weight * value.data[base + d]!
    }
  })
  return out
}

function checkArrays(arrays: Record<string, HostArray>): void {
  for (const [name, array] of Object.entries(arrays)) {
    if (ArrayBuffer.isView(array?.data) && array.shape?.length === 4) continue
    const wanted = 'data in a typed array, and a shape of four axes'
    throw expected('BAD_OPTION', `exactAttention.${name}`, wanted, describe(array))
  }
}

/** Multiply-adds of {@link exactAttention}. */
export function exactWork(query: HostArray, value: HostArray): number {
  const [batch, heads, queryLen, dim] = query.shape
  return batch * heads * queryLen * value.shape[2] * (dim + value.shape[3])
}

/** Queries and keys of one head in the target's own space. */
export interface TargetHead {
  /** `[L, D]` */
  x: Float64Array
  keys: Keys
}

/** Room for the queries `[L, D]` and the keys `[S, D]` of one head. */
export interface HeadRoom {
  x: Float64Array
  y: Float64Array
}

/** Room for any head, one after the other. */
export function headRoom({shape: [, , queryLen, dim]}: HostArray, key: HostArray): HeadRoom {
  return {x: new Float64Array(queryLen * dim), y: new Float64Array(key.shape[2] * dim)}
}

/**
 * Makes one head's vectors.
 *
 * @param head - `b * H + h`
 * @param room - where they are written. Default: new arrays
 */
export function targetHead(
  query: HostArray,
  key: HostArray,
  head: number,
  {target, logitScale}: Pick<ExactOptions, 'target' | 'logitScale'>,
  room = headRoom(query, key),
): TargetHead {
  const x = targetInputs(room.x, query, head, target, logitScale)
  const y =
    target.inputs === 'shared'
      ? targetInputs(room.y, query, head, {...target, inputs: 'unit'}, logitScale)
      : targetInputs(room.y, key, head, target, logitScale)
  return {x, keys: {vectors: y, lengths: lengthsOf(y, query.shape[3])}}
}

/** One head's vectors in the target's own space: canonical or unit, times the target's scale. */
function targetInputs(
  vectors: Float64Array,
  array: HostArray,
  head: number,
  {inputs, inputScale, normEpsilon = 0, dimensionScale}: ExactTarget,
  logitScale: number,
): Float64Array {
  const [, heads, length, dim] = array.shape
  const scaleAt = (head % heads) * dim
  vectors.set(array.data.subarray(head * length * dim, (head + 1) * length * dim))
  const space = {canonical: Math.sqrt(logitScale), shared: logitScale, unit: 1, raw: 1}
  const common = inputScale * space[inputs]
  const scales = Float64Array.from({length: dim}, (_, d) => dimensionScale?.[scaleAt + d] ?? 1)
  for (let at = 0; at < vectors.length; at += dim) {
    const length = inputs === 'unit' ? norm(vectors.subarray(at, at + dim)) + normEpsilon || 1 : 1
    const factor = common / length
    for (let d = 0; d < dim; d++) vectors[at + d]! *= factor * scales[d]!
  }
  return vectors
}

/** Keys of one head: their vectors, row-major, and the length of each. */
interface Keys {
  vectors: Float64Array
  lengths: Float64Array
}

export function lengthsOf(vectors: Float64Array, dim: number): Float64Array {
  return Float64Array.from({length: vectors.length / dim}, (_, row) =>
    norm(vectors.subarray(row * dim, (row + 1) * dim)),
  )
}

/** One query, and the keys that it may be compared with. */
interface Row {
  x: Float64Array
  keys: Keys
  target: ExactTarget
  /** Its place among the keys, where it does not see itself; else negative. */
  hidden: number
}

/** Largest term of a row, relative to which no exponential overflows, and the sum of its weights relative to that. */
interface RowTotal {
  top: number
  total: number
}

/** Normalised weights of one query over `weights.length` keys but the hidden one. */
function kernelRow(weights: Float64Array, row: Row): void {
  const {total} = unscaledRow(weights, row)
  if (total === 0) return
  for (let j = 0; j < weights.length; j++) weights[j]! /= total
}

/** Weights of one query relative to the largest term, or to one that is given. */
function unscaledRow(
  weights: Float64Array,
  {x, keys, target, hidden}: Row,
  given?: number,
): RowTotal {
  const kernel: TargetKernel = TARGET_KERNELS[target.kernel]
  const {logarithmic} = kernel
  const xLength = norm(x)
  rowWeights(weights, {x, xLength}, keys, kernel)
  if (hidden >= 0) weights[hidden] = logarithmic ? -Infinity : 0
  const logConstant = rowConstant(target, xLength)
  // relative to the largest term no exponential overflows, and that term does not underflow
  const top = given ?? (logarithmic ? largest(weights, logConstant) : 0)
  const added = Math.exp(logConstant - top)
  let total = 0
  for (let j = 0; j < weights.length; j++) {
    let weight = logarithmic ? Math.exp(weights[j]! - top) : weights[j]!
    if (j !== hidden) weight += added
    weights[j] = weight
    total += weight
  }
  return {top, total}
}

/** What the weights of every row are relative to, `[B, H, L]` each: with it, rows can be made some keys at a time. */
export interface RowTotals {
  tops: Float64Array
  totals: Float64Array
}

/** The sums of all rows of exact weights. */
export function rowTotals(query: HostArray, key: HostArray, options: ExactOptions): RowTotals {
  const [batch, heads, queryLen] = query.shape
  const keyLen = key.shape[2]
  const tops = new Float64Array(batch * heads * queryLen)
  const totals = new Float64Array(batch * heads * queryLen)
  const buffer = new Float64Array(keyLen)
  forEachRow(query, key, options, (place, row, seen) => {
    const {top, total} = unscaledRow(buffer.subarray(0, seen), row)
    tops[place] = top
    totals[place] = total
  })
  return {tops, totals}
}

/**
 * Exact weights of some keys: columns of what {@link forEachExactRow} gives row by row.
 *
 * @param totals - of the same rows, by {@link rowTotals}
 * @param range - the first of the keys, and how many
 * @returns `[B, H, L, count]`, zero where a query does not see a key
 */
export function exactTile(
  query: HostArray,
  key: HostArray,
  options: ExactOptions,
  {tops, totals}: RowTotals,
  {first, count}: {first: number; count: number},
): Float64Array {
  const dim = query.shape[3]
  const out = new Float64Array(totals.length * count)
  forEachRow(query, key, options, (place, {keys, hidden, ...row}, seen) => {
    const weights = out
      .subarray(place * count)
      .subarray(0, Math.max(0, Math.min(count, seen - first)))
    const own = hidden - first
    const part = {
      vectors: keys.vectors.subarray(first * dim),
      lengths: keys.lengths.subarray(first),
    }
    unscaledRow(weights, {...row, keys: part, hidden: own < weights.length ? own : -1}, tops[place])
    const total = totals[place]!
    if (total !== 0) for (let j = 0; j < weights.length; j++) weights[j]! /= total
  })
  return out
}

/**
 * Exact weights of some queries of every head.
 *
 * @param places - among the L of their head, `[B, H, n]`
 * @returns `[B, H, n, S]`, zero where a query does not see a key
 */
export function exactRows(
  query: HostArray,
  key: HostArray,
  options: ExactOptions,
  places: Int32Array,
): Float64Array {
  const [batch, heads] = query.shape
  const keyLen = key.shape[2]
  const count = places.length / (batch * heads)
  const out = new Float64Array(places.length * keyLen)
  const rowsOf = (head: number) => places.subarray(head * count, (head + 1) * count)
  let at = 0
  forEachRow(
    query,
    key,
    options,
    (_, row, seen) => kernelRow(out.subarray(at++ * keyLen).subarray(0, seen), row),
    rowsOf,
  )
  return out
}

/**
 * Visits every query, or some.
 *
 * @param visit - gets its place among all, and how many keys it has in view, the hidden one counted
 * @param rowsOf - the queries of a head that are visited. Default: all
 */
function forEachRow(
  query: HostArray,
  key: HostArray,
  {target, logitScale, ...view}: ExactOptions,
  visit: (place: number, row: Row, seen: number) => void,
  rowsOf?: (head: number) => Int32Array,
): void {
  const [batch, heads, queryLen, dim] = query.shape
  const lengths = {queryLen, keyLen: key.shape[2]}
  const before = keysBefore(view, lengths)
  const all = Int32Array.from({length: queryLen}, (_, row) => row)
  for (let head = 0; head < batch * heads; head++) {
    const {x, keys} = targetHead(query, key, head, {target, logitScale})
    for (const row of rowsOf?.(head) ?? all) {
      const seen = keysInView(view, lengths, row)
      const hidden = target.excludesSelf && seen > 1 ? row + before : -1
      const vector = x.subarray(row * dim, (row + 1) * dim)
      visit(head * queryLen + row, {x: vector, keys, target, hidden}, seen)
    }
  }
}

/**
 * Logarithm of what is added to every weight of a row: row weights lack the factor of x that cancels, so what is
 * added to the kernel is divided by it.
 */
export function rowConstant({kernel, constant = 0}: ExactTarget, xLength: number): number {
  return Math.log(constant) - TARGET_KERNELS[kernel].logRowFactor(xLength)
}

function rowWeights(
  weights: Float64Array,
  {x, xLength}: {x: Float64Array; xLength: number},
  {vectors, lengths}: Keys,
  {rowWeight}: TargetKernel,
): void {
  const dim = x.length
  const pair = {dot: 0, xLength, yLength: 0, dim}
  for (let j = 0; j < weights.length; j++) {
    const base = j * dim
    let dot = 0
    for (let d = 0; d < dim; d++) dot += x[d]! * vectors[base + d]!
    pair.dot = dot
    pair.yLength = lengths[j]!
    weights[j] = rowWeight(pair)
  }
}

function largest(weights: Float64Array, least: number): number {
  let top = least
  for (let j = 0; j < weights.length; j++) if (weights[j]! > top) top = weights[j]!
  return top
}

function norm(vector: Float64Array): number {
  let sum = 0
  for (let d = 0; d < vector.length; d++) sum += vector[d]! * vector[d]!
  return Math.sqrt(sum)
}
