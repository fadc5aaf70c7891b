import {describe, expected} from '../errors.js'
import {elementCount, type NdArray, toFloat32} from './nd-array.js'

/** Queries, keys or values: `[B, H, L, D]` row-major float32. */
export interface AttentionArray {
  shape: [number, number, number, number]
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
  /** Other arrays of the file, as they stand there. */
  extras: Map<string, NdArray>
  /**
   * Names of other arrays that were not read: of a type that cannot be, or too large. Absent: none.
   */
  unreadExtras?: readonly string[]
  /** Text beside the arrays, or the parameters of a generator. */
  metadata: Record<string, string>
}

/**
 * Brings an array to four axes: `[L, D]` and `[H, L, D]` gain leading axes of length 1.
 *
 * @param array - 2 to 4 axes, no axis of length 0; any element type
 * @param where - its name in messages
 * @throws {SHAPE_MISMATCH} for other shapes
 * @throws {NOT_FINITE} when an element is NaN or infinite as float32; names the first and counts
 *   all
 */
export function toAttentionArray(array: NdArray, where: string): AttentionArray {
  const shape = fourAxes(array.shape, where)
  const data = toFloat32(array)
  checkFinite(data, array.shape, where)
  return {shape, data}
}

/** The shape that {@link toAttentionArray} gives an array. @throws {SHAPE_MISMATCH} */
export function fourAxes(shape: readonly number[], where: string): AttentionArray['shape'] {
  if (shape.length < 2 || shape.length > 4) {
    const what = 'axes [L, D], [H, L, D] or [B, H, L, D]'
    throw expected('SHAPE_MISMATCH', where, what, describe(shape))
  }
  if (elementCount(shape) === 0) {
    throw expected('SHAPE_MISMATCH', where, 'at least one element', `an empty ${describe(shape)}`)
  }
  const [dim = 1, length = 1, heads = 1, batch = 1] = shape.toReversed()
  return [batch, heads, length, dim]
}

/** Sizes of an input. */
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

/** Queries, keys and values as far as their shapes tell. */
export type AttentionShapes = Record<'query' | 'key' | 'value', Pick<AttentionArray, 'shape'>>

/**
 * Checks that queries, keys and values belong together.
 *
 * @param label - file or generator, in messages
 * @throws {SHAPE_MISMATCH} unless B and H agree among all three, D between query and key, and the
 *   length between key and value; the sentence shows all three shapes
 */
export function checkAttentionShapes(label: string, {query, key, value}: AttentionShapes): void {
  const [batch, heads, , headDim] = query.shape
  const problem = [key, value].some(({shape}) => shape[0] !== batch)
    ? 'query, key and value of one batch size'
    : [key, value].some(({shape}) => shape[1] !== heads)
      ? 'query, key and value with equally many heads'
      : key.shape[3] !== headDim
        ? 'query and key of the same head dimension'
        : key.shape[2] !== value.shape[2]
          ? 'key and value of the same length'
          : undefined
  if (problem === undefined) return
  const shapes = Object.entries({query, key, value}).map(
    ([n, {shape}]) => `${n} ${describe(shape)}`,
  )
  const grouped = key.shape[1] < heads && heads % key.shape[1] === 0
  throw expected(
    'SHAPE_MISMATCH',
    label,
    problem,
    shapes.join(', '),
    ...(grouped ? ['for grouped-query attention, repeat keys and values once per query head'] : []),
  )
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

function checkFinite(data: Float32Array, shape: readonly number[], where: string): void {
  const first = data.findIndex(element => !Number.isFinite(element))
  if (first < 0) return
  let count = 0
  for (const element of data) if (!Number.isFinite(element)) count++
  const index = describe(indexOf(first, shape))
  throw expected(
    'NOT_FINITE',
    where,
    'finite float32 numbers',
    `${data[first]} at ${index}, ${count} such of ${data.length}`,
    'find out where the model produced them, or cut off the padding',
  )
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
