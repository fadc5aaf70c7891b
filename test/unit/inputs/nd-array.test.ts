import {describe, expect, test} from 'vitest'
import {
  checkNdArray,
  elementCount,
  isShape,
  type NdArray,
  toFloat32,
} from '../../../src/inputs/nd-array.js'

describe('elementCount', () => {
  test.each([
    [[], 1],
    [[7], 7],
    [[3, 5, 7], 105],
    [[3, 0, 7], 0],
  ])('of shape %j is %i', (shape, count) => {
    expect(elementCount(shape)).toBe(count)
  })
})

describe('isShape', () => {
  test.each([[[]], [[0]], [[3, 5]]])('accepts %j', shape => {
    expect(isShape(shape)).toBe(true)
  })

  test.each([[[-1]], [[1.5]], [['3']], [[2 ** 30, 2 ** 30]], [null], ['3'], [3]])(
    'refuses %j',
    value => {
      expect(isShape(value)).toBe(false)
    },
  )
})

describe('toFloat32', () => {
  test('returns float32 data itself, without a copy', () => {
    const data = new Float32Array([1, 2, 3])
    expect(toFloat32({shape: [3], dtype: 'float32', data})).toBe(data)
  })

  test.each<[NdArray['dtype'], NdArray['data'], number[]]>([
    ['float64', new Float64Array([0.1, -2, 1e300]), [Math.fround(0.1), -2, Infinity]],
    ['int64', new BigInt64Array([-3n, 0n, 5n]), [-3, 0, 5]],
    ['uint64', new BigUint64Array([2n ** 63n]), [2 ** 63]],
    ['bool', new Uint8Array([0, 1]), [0, 1]],
    ['int16', new Int16Array([-7]), [-7]],
  ])('converts %s', (dtype, data, values) => {
    expect([...toFloat32({shape: [data.length], dtype, data})]).toEqual(values)
  })
})

describe('checkNdArray', () => {
  test('accepts an array that agrees with itself', () => {
    const array: NdArray = {shape: [3, 5], dtype: 'float16', data: new Float32Array(15)}
    expect(() => checkNdArray(array, 'q')).not.toThrow()
  })

  test.each<[string, NdArray, string]>([
    [
      'a length that is not the product of the axes',
      {shape: [3, 5], dtype: 'float32', data: new Float32Array(14)},
      'q: expected 15 elements in a Float32Array for float32 [3, 5], got 14 in a Float32Array',
    ],
    [
      'an array type that does not hold the element type',
      {shape: [3], dtype: 'int64', data: new Int32Array(3)},
      'q: expected 3 elements in a BigInt64Array for int64 [3], got 3 in a Int32Array',
    ],
    [
      'a negative axis',
      {shape: [-3], dtype: 'float32', data: new Float32Array(3)},
      'q: expected a shape of non-negative integers, got [-3]',
    ],
  ])('refuses %s', (_, array, message) => {
    expect(() => checkNdArray(array, 'q')).toThrow(
      expect.objectContaining({code: 'SHAPE_MISMATCH', message}),
    )
  })
})
