import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {
  columnMajorToRowMajor,
  decodeElements,
  encodeElements,
} from '../../../../src/inputs/files/elements.js'
import {DTYPES, type Dtype} from '../../../../src/inputs/nd-array.js'

const DTYPE_NAMES = Object.keys(DTYPES) as Dtype[]

describe.each(DTYPE_NAMES)('%s', dtype => {
  const {bytes: width} = DTYPES[dtype]

  /** Elements of any bit pattern that encoding keeps: 0 or 1 for bool, no NaN in 16-bit formats. */
  const patterns = fc
    .uint8Array({minLength: 0, maxLength: 15 * width})
    .map(bytes => Uint8Array.from(bytes.subarray(0, bytes.length - (bytes.length % width))))
    .map(bytes => (dtype === 'bool' ? bytes.map(byte => byte & 1) : bytes))
    .filter(bytes => !dtype.endsWith('float16') || !decoded(bytes).some(Number.isNaN))

  const decoded = (bytes: Uint8Array<ArrayBuffer>) => [
    ...(decodeElements(bytes.slice(), dtype, true) as Float32Array),
  ]

  test('bytes survive decoding and encoding', () => {
    fc.assert(
      fc.property(patterns, bytes => {
        const data = decodeElements(bytes.slice(), dtype, true)
        expect(data).toBeInstanceOf(DTYPES[dtype].storage)
        expect([...encodeElements({shape: [data.length], dtype, data})]).toEqual([...bytes])
      }),
    )
  })

  test('big-endian bytes give the same elements as reversed little-endian ones', () => {
    fc.assert(
      fc.property(patterns, bytes => {
        const swapped = bytes.slice()
        for (let i = 0; i < bytes.length; i += width) swapped.subarray(i, i + width).reverse()
        const bigEndian = decodeElements(swapped, dtype, false)
        expect(bigEndian).toEqual(decodeElements(bytes.slice(), dtype, true))
      }),
    )
  })

  test('bytes that start at an odd address are read all the same', () => {
    const bytes = Uint8Array.from({length: 3 * width}, (_, i) => (dtype === 'bool' ? i & 1 : i))
    const shifted = new Uint8Array(bytes.length + 1)
    shifted.set(bytes, 1)
    const odd = decodeElements(shifted.subarray(1), dtype, true)
    expect(odd).toEqual(decodeElements(bytes.slice(), dtype, true))
  })
})

test('any nonzero byte is true', () => {
  const data = decodeElements(new Uint8Array([0, 1, 2, 255]), 'bool', true)
  expect([...data]).toEqual([0, 1, 1, 1])
})

test('column-major elements of shape [2, 3, 5] move to their row-major places', () => {
  const shape = [2, 3, 5]
  const stored = new Float32Array(30)
  // the value at [i, j, k] is its row-major number
  for (let i = 0; i < 2; i++) {
    for (let j = 0; j < 3; j++) {
      for (let k = 0; k < 5; k++) stored[i + 2 * (j + 3 * k)] = (i * 3 + j) * 5 + k
    }
  }
  const expected = Array.from({length: 30}, (_, n) => n)
  expect([...columnMajorToRowMajor(stored, shape)]).toEqual(expected)
})

test.each([[[]], [[7]], [[0, 3]]])('column-major and row-major agree for shape %j', shape => {
  const data = Float64Array.from({length: shape.reduce((a, b) => a * b, 1)}, (_, i) => i)
  expect(columnMajorToRowMajor(data, shape)).toEqual(data)
})
