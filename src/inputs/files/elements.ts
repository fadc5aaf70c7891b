import {endianness} from 'node:os'
import {narrow, widen} from '../half.js'
import {DTYPES, type Dtype, type NdArray, type TypedArray} from '../nd-array.js'

/** Bytes that do not change, so that they can be viewed as elements. */
export type Bytes = Uint8Array<ArrayBuffer>

const HOST_IS_LITTLE = endianness() === 'LE'

/**
 * Turns the bytes of a file into elements.
 *
 * @param bytes - whole elements; not changed, but may end up holding the result
 * @param dtype - element type of the file
 * @param littleEndian - byte order of the file
 * @returns the elements in the storage type of `dtype`; exact for every type
 */
export function decodeElements(bytes: Bytes, dtype: Dtype, littleEndian: boolean): TypedArray {
  const {bytes: width, storage} = DTYPES[dtype]
  const swapped = littleEndian !== HOST_IS_LITTLE && width > 1
  const aligned = swapped
    ? swapBytes(bytes.slice(), width)
    : bytes.byteOffset % width === 0
      ? bytes
      : bytes.slice()
  const count = aligned.length / width
  if (dtype === 'float16' || dtype === 'bfloat16') {
    return widen(new Uint16Array(aligned.buffer, aligned.byteOffset, count), dtype)
  }
  if (dtype === 'bool') return aligned.map(byte => (byte === 0 ? 0 : 1))
  return new storage(aligned.buffer, aligned.byteOffset, count)
}

/**
 * The little-endian bytes of an array, as .npy and .safetensors hold them.
 *
 * @param array - `float16` and `bfloat16` data is rounded to nearest, ties to even
 * @returns a view of the data where it already has the right form: not to be changed
 */
export function encodeElements({dtype, data}: NdArray): Bytes {
  const stored =
    dtype === 'float16' || dtype === 'bfloat16' ? narrow(data as Float32Array, dtype) : data
  const bytes = new Uint8Array(stored.buffer, stored.byteOffset, stored.byteLength)
  if (HOST_IS_LITTLE || DTYPES[dtype].bytes === 1) return bytes
  return swapBytes(bytes.slice(), DTYPES[dtype].bytes)
}

/** Reverses the bytes of every element in place. */
function swapBytes(bytes: Bytes, width: number): Bytes {
  for (let start = 0; start + width <= bytes.length; start += width) {
    bytes.subarray(start, start + width).reverse()
  }
  return bytes
}

/**
 * Reorders column-major elements (first axis fastest) to row-major.
 *
 * @param data - elements in column-major order
 * @param shape - axes in their usual order
 * @returns a new array of the same type
 */
export function columnMajorToRowMajor<Data extends TypedArray>(
  data: Data,
  shape: readonly number[],
): Data {
  const out = data.slice() as Data
  // distance in `data` between neighbours along each axis
  const strides: number[] = []
  let stride = 1
  for (const axis of shape) {
    strides.push(stride)
    stride *= axis
  }
  const index = shape.map(() => 0)
  let source = 0
  for (let target = 0; target < out.length; target++) {
    out[target] = data[source]!
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      source += strides[axis]!
      if (++index[axis]! < shape[axis]!) break
      source -= index[axis]! * strides[axis]!
      index[axis] = 0
    }
  }
  return out
}
