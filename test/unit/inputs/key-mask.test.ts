import {describe, expect, it} from 'vitest'
import {
  cutKeyMask,
  hiddenKeys,
  type KeyMask,
  placesInView,
  toKeyMask,
} from '../../../src/inputs/key-mask.js'
import type {NdArray} from '../../../src/inputs/nd-array.js'

const BITS = [1, 0, 1, 1, 1, 0]
const mask = (...bits: number[]): KeyMask => Uint8Array.from(bits)

describe('toKeyMask', () => {
  it.each<[string, NdArray['dtype'], NdArray['data']]>([
    ['bool', 'bool', Uint8Array.from(BITS)],
    ['uint8', 'uint8', Uint8Array.from(BITS, bit => 255 * bit)],
    ['int64', 'int64', BigInt64Array.from(BITS, bit => BigInt(-2 * bit))],
    ['int32', 'int32', Int32Array.from(BITS, bit => 7 * bit)],
    ['float16 of 0 and 1', 'float16', Float32Array.from(BITS)],
    ['float64 of 0 and 1', 'float64', Float64Array.from(BITS)],
  ])('reads %s: anything but zero takes part', (_, dtype, data) => {
    expect(toKeyMask({shape: [2, 3], dtype, data}, 'm', {batch: 2, keyLen: 3})).toEqual(
      mask(...BITS),
    )
  })

  it('takes one axis for a single sequence', () => {
    const array = {shape: [3], dtype: 'uint8' as const, data: Uint8Array.of(0, 1, 1)}
    expect(toKeyMask(array, 'm', {batch: 1, keyLen: 3})).toEqual(mask(0, 1, 1))
    expect(() => toKeyMask(array, 'm', {batch: 3, keyLen: 1})).toThrow(
      'm: expected [3, 1], got [3]',
    )
  })

  it.each([[[3, 2]], [[6]], [[2, 2, 3]], [[1, 3]], [[]]])('refuses the shape %j', shape => {
    const array = {shape, dtype: 'uint8' as const, data: new Uint8Array(6)}
    expect(() => toKeyMask(array, 'm', {batch: 2, keyLen: 3})).toThrow(
      expect.objectContaining({
        code: 'SHAPE_MISMATCH',
        message: `m: expected [2, 3], got [${shape.join(', ')}]`,
      }),
    )
  })

  it('refuses floats that are rather added to logits', () => {
    for (const other of [-1e9, 0.5, Number.NaN, Number.NEGATIVE_INFINITY]) {
      const array = {shape: [1, 2], dtype: 'float32' as const, data: Float32Array.of(0, other)}
      expect(() => toKeyMask(array, 'm', {batch: 1, keyLen: 2})).toThrow(
        expect.objectContaining({
          code: 'BAD_FILE',
          suggestions: ['a mask that is added to logits becomes one by `mask == 0`'],
        }),
      )
    }
  })
})

describe('cutKeyMask', () => {
  it('keeps the first keys of every sequence', () => {
    expect(cutKeyMask(mask(1, 1, 0, 0, 1, 1), 3, 3, 'f')).toEqual(mask(1, 1, 0, 0, 1, 1))
    expect(cutKeyMask(mask(1, 1, 0, 0, 1, 1), 3, 2, 'f')).toEqual(mask(1, 1, 0, 1))
  })

  it('is none where nothing is hidden', () => {
    expect(cutKeyMask(mask(1, 1, 1, 1), 2, 2, 'f')).toBeUndefined()
    expect(cutKeyMask(mask(1, 1, 0, 1, 1, 0), 3, 2, 'f')).toBeUndefined()
  })

  it('refuses a sequence without any key, and says of a cut that it is one', () => {
    expect(() => cutKeyMask(mask(1, 1, 0, 0), 2, 2, 'f.npz')).toThrow(
      expect.objectContaining({
        code: 'BAD_FILE',
        message:
          'f.npz, key mask of sequence 1: expected a key that takes part, got none among its 2',
      }),
    )
    expect(() => cutKeyMask(mask(0, 0, 1), 3, 2, 'f.npz')).toThrow(
      expect.objectContaining({
        code: 'BAD_OPTION',
        message:
          'f.npz, key mask of sequence 0: expected a key that takes part, got none among the first 2 of 3',
        suggestions: expect.arrayContaining(['take a longer `seqLen`']),
      }),
    )
  })
})

it('counts what is hidden and lists what is not', () => {
  expect(hiddenKeys(undefined)).toBe(0)
  expect(hiddenKeys(mask(...BITS))).toBe(2)
  expect(placesInView(mask(0, 1, 0, 1))).toEqual(Int32Array.of(1, 3))
})
