import {describe, expected} from '../errors.js'
import type {KeyMask} from './key-mask.js'
import {
  axesOf,
  DEFAULT_LAYOUT,
  exchangeAxes,
  exchanged,
  type Four,
  type Layout,
  layoutAdvice,
  otherLayout,
  shapesOf,
} from './layout.js'
import {elementCount, type NdArray, toFloat32} from './nd-array.js'

/** Queries, keys or values: `[B, H, L, D]` row-major float32. */
export interface AttentionArray {
  shape: Four
  data: Float32Array<ArrayBuffer>
}

/**
 * What attention is computed on. Nothing is scaled yet: query and key are as the model made them,
 * the logit scale is applied later.
 */
export interface AttentionInput {
  /** As tables show it: file name or generator. */
  label: string
  /** `[B, H, L, D]` */
  query: AttentionArray
  /** `[B, H, S, D]` */
  key: AttentionArray
  /** `[B, H, S, Dv]` */
  value: AttentionArray
  /**
   * Keys that take part, `[B, S]`; absent: all. With equal numbers of queries and keys, both stand for the same
   * tokens: a query with a hidden key is not part of the model's result.
   */
  keyMask?: KeyMask
  /** beta that the file states: logits are `beta q.k`. Absent: `1/sqrt(D)`. */
  logitScale?: number
  /** Whether the model ran with a causal mask, where the file states it. */
  ranCausal?: boolean
  /** Heads of keys and values in the file, each shared by several heads of queries. Absent: one per head of queries. */
  keyHeads?: number
  /**
   * W_O, `[1, 1, H Dv, width]`: the outputs of all heads of a token, one head after the other, times it are what the layer
   * adds to the residual stream. Absent: the file has none.
   */
  outputProjection?: AttentionArray
  /** Root mean square length of the rows of the residual stream that attention is added to. Absent: the file does not say. */
  residualNorm?: number
  /** Other arrays of the file, as they stand there. */
  extras: Map<string, NdArray>
  /** Names of other arrays that were not read: of a type that cannot be, or too large. Absent: none. */
  unreadExtras?: readonly string[]
  /** Text in the file, or the parameters of a generator. */
  metadata: Record<string, string>
}

/**
 * Brings an array to `[B, H, L, D]`: `[L, D]` and `[H, L, D]` gain leading axes of length 1, another layout has its axes
 * exchanged.
 *
 * @param array - 2 to 4 axes, no axis of length 0; any element type
 * @param where - its name in messages
 * @param layout - the order of its axes. Default: heads before tokens
 * @returns the array's own data where it is float32 and nothing has to move
 * @throws {SHAPE_MISMATCH} for other shapes
 * @throws {NOT_FINITE} when an element is NaN or infinite as float32; names the first and counts
 *   all
 * @throws {TOO_LARGE} when its axes are exchanged and there is no memory for a copy
 */
export function toAttentionArray(
  array: NdArray,
  where: string,
  layout: Layout = DEFAULT_LAYOUT,
): AttentionArray {
  const shape = fourAxes(array.shape, where, layout)
  const data =
    layout === DEFAULT_LAYOUT ? toFloat32(array) : exchangeAxes(array.data, exchanged(shape), where)
  checkFinite({shape, data}, where, {layout, rank: array.shape.length})
  return {shape, data}
}

/** The shape that {@link toAttentionArray} gives an array. @throws {SHAPE_MISMATCH} */
export function fourAxes(
  shape: readonly number[],
  where: string,
  layout: Layout = DEFAULT_LAYOUT,
): Four {
  if (shape.length < 2 || shape.length > 4) {
    throw expected('SHAPE_MISMATCH', where, `axes ${shapesOf(layout)}`, describe(shape))
  }
  if (elementCount(shape) === 0) {
    throw expected('SHAPE_MISMATCH', where, 'at least one element', `an empty ${describe(shape)}`)
  }
  const [dim = 1, inner = 1, outer = 1, batch = 1] = shape.toReversed()
  // two axes have no heads: there is nothing to exchange
  return layout === 'blhd' && shape.length > 2
    ? [batch, inner, outer, dim]
    : [batch, outer, inner, dim]
}

export interface AttentionSizes {
  batch: number
  heads: number
  queryLen: number
  keyLen: number
  headDim: number
  valueDim: number
}

/** The sizes of queries, keys and values that belong together. */
export function sizesOf({query, value}: AttentionShapes): AttentionSizes {
  const [batch, heads, queryLen, headDim] = query.shape
  const [, , keyLen, valueDim] = value.shape
  return {batch, heads, queryLen, keyLen, headDim, valueDim}
}

export type AttentionShapes = Record<'query' | 'key' | 'value', Pick<AttentionArray, 'shape'>>

/**
 * Checks that queries, keys and values belong together.
 *
 * @param label - file or generator, in messages
 * @param layout - how files were read: where they would belong together in the other layout, that is suggested
 * @throws {SHAPE_MISMATCH} unless B agrees among all three, D between query and key, length and heads between key and
 *   value, and these heads divide those of the queries; the sentence shows all three shapes
 */
export function checkAttentionShapes(
  label: string,
  shapes: AttentionShapes,
  layout?: Layout,
): void {
  const problem = problemOf(shapes)
  if (problem === undefined) return
  const {query, key, value} = shapes
  const shown = Object.entries({query, key, value}).map(([n, {shape}]) => `${n} ${describe(shape)}`)
  throw expected(
    'SHAPE_MISMATCH',
    label,
    problem,
    shown.join(', '),
    ...(layout === undefined ? [] : otherReading(shapes, layout)),
  )
}

/** What does not fit, as what was expected; `undefined` where all does. */
function problemOf({query, key, value}: AttentionShapes): string | undefined {
  const [batch, heads, , headDim] = query.shape
  const both = [key, value]
  if (both.some(({shape}) => shape[0] !== batch))
    return 'query, key and value with the same batch size'
  if (key.shape[1] !== value.shape[1]) return 'key and value with the same number of heads'
  if (heads % key.shape[1] !== 0) {
    return 'a number of key and value heads that divides the number of query heads'
  }
  if (key.shape[3] !== headDim) return 'query and key of the same head dimension'
  return key.shape[2] === value.shape[2] ? undefined : 'key and value of the same length'
}

/** The advice to read arrays in the other layout, where they would belong together and look like attention. */
function otherReading({query, key, value}: AttentionShapes, layout: Layout): string[] {
  const [q, k, v] = [query, key, value].map(({shape}) => ({shape: exchanged(shape)}))
  const other = {query: q!, key: k!, value: v!}
  if (problemOf(other) !== undefined || looksExchanged(sizesOf(other))) return []
  return [`as ${axesOf(otherLayout(layout))} they fit together: ${layoutAdvice(layout)}`]
}

/** Hardly any attention has more heads than tokens: its axes were rather read in the wrong order. */
function looksExchanged({heads, queryLen, keyLen}: FileSizes): boolean {
  return heads > Math.max(queryLen, keyLen)
}
type FileSizes = Pick<AttentionSizes, 'heads' | 'queryLen' | 'keyLen'>

/**
 * What to be wary of in the sizes of a file, which may have been read in the wrong layout.
 *
 * @param sizes - of the whole file, not of the first tokens of it
 * @returns a sentence with the advice, or `undefined`
 */
export function layoutWarning(
  sizes: FileSizes,
  layout: Layout = DEFAULT_LAYOUT,
): string | undefined {
  if (!looksExchanged(sizes)) return undefined
  const {heads, queryLen, keyLen} = sizes
  const read = `read as ${axesOf(layout)} it has ${heads} heads and ${Math.max(queryLen, keyLen)} tokens`
  return `${read}; if its axes are ${axesOf(otherLayout(layout))}, ${layoutAdvice(layout)}`
}

/**
 * The first rows of every head.
 *
 * @param array - `[B, H, L, D]`
 * @param length - rows kept, at most L
 * @returns `[B, H, length, D]`; `array` itself when nothing is cut
 */
export function firstRows(array: AttentionArray, length: number): AttentionArray {
  const [batch, heads, rows, dim] = array.shape
  if (length === rows) return array
  const data = new Float32Array(batch * heads * length * dim)
  for (let head = 0; head < batch * heads; head++) {
    const start = head * rows * dim
    data.set(array.data.subarray(start, start + length * dim), head * length * dim)
  }
  return {shape: [batch, heads, length, dim], data}
}

/** @param file - the order and the number of the axes that the array has in its file, in which an element is named */
function checkFinite(
  {shape, data}: AttentionArray,
  where: string,
  file: {layout: Layout; rank: number},
): void {
  let first = 0
  while (first < data.length && Number.isFinite(data[first])) first++
  if (first === data.length) return
  let count = 0
  for (const element of data) if (!Number.isFinite(element)) count++
  const index = indexOf(first, shape) as Four
  const stored = file.layout === 'blhd' && file.rank > 2 ? exchanged(index) : index
  const got = `${data[first]} at ${describe(stored.slice(-file.rank))}, ${count} such of ${data.length}`
  const remedy = 'find out where the model produced them, or cut off the padding'
  throw expected('NOT_FINITE', where, 'finite float32 numbers', got, remedy)
}

/** Index along each axis of the element at `offset`. */
function indexOf(offset: number, shape: readonly number[]): number[] {
  const index: number[] = []
  let rest = offset
  for (const axis of shape.toReversed()) {
    index.unshift(rest % axis)
    rest = Math.floor(rest / axis)
  }
  return index
}

/**
 * Lengths of queries and keys: the first `seqLen` queries; keys follow only where they stand for the same tokens.
 *
 * @param seqLen - `null`: all
 * @throws {BAD_OPTION} for more queries than there are
 */
export function cutLengths(
  {label, query, key}: AttentionShapes & {label: string},
  seqLen: number | null,
): [queryLen: number, keyLen: number] {
  const [, , length] = query.shape
  const [, , keyLen] = key.shape
  if (seqLen === null) return [length, keyLen]
  if (!Number.isInteger(seqLen) || seqLen < 1 || seqLen > length) {
    const what = `1 to ${length}, the number of queries in ${label}`
    throw expected('BAD_OPTION', '`seqLen`', what, describe(seqLen))
  }
  return [seqLen, keyLen === length ? seqLen : keyLen]
}
