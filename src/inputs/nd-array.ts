import {describe, expected} from '../errors.js'

/** Array types that hold the elements of an {@link NdArray}. */
export type TypedArray =
  | Float32Array<ArrayBuffer>
  | Float64Array<ArrayBuffer>
  | Int8Array<ArrayBuffer>
  | Uint8Array<ArrayBuffer>
  | Int16Array<ArrayBuffer>
  | Uint16Array<ArrayBuffer>
  | Int32Array<ArrayBuffer>
  | Uint32Array<ArrayBuffer>
  | BigInt64Array<ArrayBuffer>
  | BigUint64Array<ArrayBuffer>

/**
 * Element types of files, and how each is held in memory: `bytes` per element in the file and the
 * array type that holds it exactly. `float16` and `bfloat16` widen to float32, `bool` is 0 or 1.
 */
export const DTYPES = {
  bool: {bytes: 1, storage: Uint8Array},
  int8: {bytes: 1, storage: Int8Array},
  uint8: {bytes: 1, storage: Uint8Array},
  int16: {bytes: 2, storage: Int16Array},
  uint16: {bytes: 2, storage: Uint16Array},
  int32: {bytes: 4, storage: Int32Array},
  uint32: {bytes: 4, storage: Uint32Array},
  int64: {bytes: 8, storage: BigInt64Array},
  uint64: {bytes: 8, storage: BigUint64Array},
  float16: {bytes: 2, storage: Float32Array},
  bfloat16: {bytes: 2, storage: Float32Array},
  float32: {bytes: 4, storage: Float32Array},
  float64: {bytes: 8, storage: Float64Array},
} as const

/** Name of an element type. */
export type Dtype = keyof typeof DTYPES

/** An array of any rank, row-major. */
export interface NdArray {
  /** Axis lengths; `[]` for a scalar. */
  shape: number[]
  /** Element type in the file; `data` may be wider, see {@link DTYPES}. */
  dtype: Dtype
  /** `elementCount(shape)` elements, last axis fastest. */
  data: TypedArray
}

/** Number of elements of a shape: the product of its axes, 1 for a scalar. */
export function elementCount(shape: readonly number[]): number {
  return shape.reduce((product, axis) => product * axis, 1)
}

/** Whether a value is a shape: non-negative integers with a safe integer as product. */
export function isShape(value: unknown): value is number[] {
  return (
    Array.isArray(value) &&
    value.every(axis => Number.isSafeInteger(axis) && axis >= 0) &&
    Number.isSafeInteger(elementCount(value))
  )
}

/**
 * Checks that an array made by a program agrees with itself.
 *
 * @param array - any array
 * @param where - its name in messages
 * @throws {SHAPE_MISMATCH} when `shape` is not a shape, or `data` has another length or type than `dtype` asks
 */
export function checkNdArray(array: NdArray, where: string): void {
  if (!isShape(array.shape)) {
    const axes = 'a shape of non-negative integers'
    throw expected('SHAPE_MISMATCH', where, axes, describe(array.shape))
  }
  const count = elementCount(array.shape)
  const {storage} = DTYPES[array.dtype]
  if (!(array.data instanceof storage) || array.data.length !== count) {
    const what = `${count} elements in a ${storage.name} for ${array.dtype} ${describe(array.shape)}`
    const got = `${array.data.length} in a ${array.data.constructor.name}`
    throw expected('SHAPE_MISMATCH', where, what, got)
  }
}

/**
 * The elements as float32.
 *
 * @param array - any array; float32, float16 and bfloat16 are exact, wider types are rounded to
 *   nearest
 * @returns `array.data` itself when it already is a Float32Array, else a new array of the same
 *   length
 */
export function toFloat32(array: NdArray): Float32Array<ArrayBuffer> {
  const {data} = array
  if (data instanceof Float32Array) return data
  const out = new Float32Array(data.length)
  for (let i = 0; i < data.length; i++) out[i] = Number(data[i])
  return out
}
