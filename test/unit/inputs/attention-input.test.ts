import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {
  type AttentionArray,
  checkAttentionShapes,
  firstRows,
  toAttentionArray,
} from '../../../src/inputs/attention-input.js'
import {exchangeAxes, exchanged} from '../../../src/inputs/layout.js'
import {DTYPES, elementCount} from '../../../src/inputs/nd-array.js'
import {counting} from '../../helpers/input-files.js'

const ofShape = (...shape: AttentionArray['shape']): AttentionArray => ({
  shape,
  data: new Float32Array(elementCount(shape)),
})

describe('toAttentionArray of tokens before heads', () => {
  const four = fc.tuple(...[1, 2, 3, 4].map(() => fc.integer({min: 1, max: 7})))
  const dtypes = fc.constantFrom('float32', 'float64', 'int64', 'uint8' as const)

  test('puts every element where its head and token say, of any type and shape', () => {
    fc.assert(
      fc.property(four, fc.integer({min: 2, max: 4}), dtypes, (axes, rank, dtype) => {
        const shape = axes.slice(4 - rank)
        const numbers = Array.from({length: elementCount(shape)}, (_, i) => i % 251)
        const data =
          dtype === 'int64'
            ? BigInt64Array.from(numbers.map(BigInt))
            : (DTYPES[dtype].storage as Float64ArrayConstructor).from(numbers)
        const result = toAttentionArray({shape, dtype, data}, 'q', 'blhd')
        const [batch = 1, length = 1, heads = 1, dim = 1] =
          rank === 2 ? [1, shape[0], 1, shape[1]] : [1, ...shape].slice(-4)
        expect(result.shape).toEqual([batch, heads, length, dim])
        expect(result.data).toBeInstanceOf(Float32Array)
        for (const [at, element] of result.data.entries()) {
          const [row, d] = [Math.floor(at / dim), at % dim]
          const [head, l] = [Math.floor(row / length), row % length]
          const [b, h] = [Math.floor(head / heads), head % heads]
          expect(element).toBe((((b * length + l) * heads + h) * dim + d) % 251)
        }
      }),
      {numRuns: 60},
    )
  })

  test('exchanged twice is what it was', () => {
    fc.assert(
      fc.property(four, axes => {
        const shape = axes as AttentionArray['shape']
        const {data} = counting(0, ...shape)
        const once = exchangeAxes(data, shape, 'q')
        expect(exchangeAxes(once, exchanged(shape), 'q')).toEqual(data)
      }),
    )
  })

  test.each([[[5, 1, 3, 7]], [[5, 3, 1, 7]], [[3, 7]]])('copies nothing of %j', shape => {
    const array = counting(0, ...shape)
    expect(toAttentionArray(array, 'q', 'blhd').data).toBe(array.data)
  })

  test('names an element that is not finite by its place in the file', () => {
    const array = counting(0, 2, 5, 3, 7)
    array.data[((1 * 5 + 4) * 3 + 2) * 7 + 6] = NaN
    const message = 'q: expected finite float32 numbers, got NaN at [1, 4, 2, 6], 1 such of 210'
    expect(() => toAttentionArray(array, 'q', 'blhd')).toThrow(expect.objectContaining({message}))
    const three = {...array, shape: [10, 3, 7]}
    expect(() => toAttentionArray(three, 'q', 'blhd')).toThrow(/got NaN at \[9, 2, 6\],/)
  })

  test.each([[[7]], [[1, 2, 3, 5, 7]]])('refuses shape %j in its own words', shape => {
    expect(() => toAttentionArray(counting(0, ...shape), 'q', 'blhd')).toThrow(
      `q: expected axes [L, D], [L, H, D] or [B, L, H, D], got [${shape.join(', ')}]`,
    )
  })
})

describe('toAttentionArray', () => {
  test.each([
    [
      [5, 7],
      [1, 1, 5, 7],
    ],
    [
      [3, 5, 7],
      [1, 3, 5, 7],
    ],
    [
      [2, 3, 5, 7],
      [2, 3, 5, 7],
    ],
  ])('brings %j to %j with the same elements', (shape, four) => {
    const array = counting(0, ...shape)
    const result = toAttentionArray(array, 'q')
    expect(result.shape).toEqual(four)
    expect(result.data).toBe(array.data)
  })

  test('converts other element types to float32', () => {
    const data = new Float64Array([0.1, 2])
    const result = toAttentionArray({shape: [1, 2], dtype: 'float64', data}, 'q')
    expect([...result.data]).toEqual([Math.fround(0.1), 2])
  })

  test.each([[[7]], [[]], [[1, 2, 3, 5, 7]]])('refuses shape %j', shape => {
    expect(() => toAttentionArray(counting(0, ...shape), 'f.npz[q]')).toThrow(
      expect.objectContaining({
        code: 'SHAPE_MISMATCH',
        message: `f.npz[q]: expected axes [L, D], [H, L, D] or [B, H, L, D], got [${shape.join(', ')}]`,
      }),
    )
  })

  test('refuses an empty array', () => {
    expect(() => toAttentionArray(counting(0, 3, 0, 7), 'q')).toThrow(
      expect.objectContaining({
        code: 'SHAPE_MISMATCH',
        message: 'q: expected at least one element, got an empty [3, 0, 7]',
      }),
    )
  })

  test.each([NaN, Infinity, -Infinity])('names the first %d and counts all such elements', bad => {
    const array = counting(0, 3, 5, 7)
    array.data[1 * 35 + 2 * 7 + 6] = bad
    array.data[104] = NaN
    expect(() => toAttentionArray(array, 'f.npz[k]')).toThrow(
      expect.objectContaining({
        code: 'NOT_FINITE',
        message: `f.npz[k]: expected finite float32 numbers, got ${bad} at [1, 2, 6], 2 such of 105`,
      }),
    )
  })

  test('a float64 number beyond float32 is not finite either', () => {
    const data = new Float64Array([1, 1e300])
    expect(() => toAttentionArray({shape: [1, 2], dtype: 'float64', data}, 'q')).toThrow(
      expect.objectContaining({code: 'NOT_FINITE'}),
    )
  })
})

describe('checkAttentionShapes', () => {
  test('accepts cross attention with its own value dimension', () => {
    const parts = {
      query: ofShape(2, 3, 5, 7),
      key: ofShape(2, 3, 11, 7),
      value: ofShape(2, 3, 11, 13),
    }
    expect(() => checkAttentionShapes('f', parts)).not.toThrow()
  })

  type Shape = AttentionArray['shape']
  test.each<[string, Shape, Shape, Shape]>([
    ['query, key and value with the same batch size', [2, 3, 5, 7], [1, 3, 5, 7], [2, 3, 5, 7]],
    ['query, key and value with the same batch size', [2, 3, 5, 7], [2, 3, 5, 7], [1, 3, 5, 7]],
    ['key and value with the same number of heads', [2, 6, 5, 7], [2, 3, 5, 7], [2, 2, 5, 7]],
    [
      'a number of key and value heads that divides the number of query heads',
      [2, 3, 5, 7],
      [2, 2, 5, 7],
      [2, 2, 5, 7],
    ],
    ['query and key of the same head dimension', [2, 3, 5, 7], [2, 3, 5, 11], [2, 3, 5, 7]],
    ['key and value of the same length', [2, 3, 5, 7], [2, 3, 11, 7], [2, 3, 13, 7]],
  ])('asks for %s: %j %j %j', (what, q, k, v) => {
    const parts = {query: ofShape(...q), key: ofShape(...k), value: ofShape(...v)}
    const shown = `query [${q.join(', ')}], key [${k.join(', ')}], value [${v.join(', ')}]`
    expect(() => checkAttentionShapes('f', parts)).toThrow(
      expect.objectContaining({
        code: 'SHAPE_MISMATCH',
        message: `f: expected ${what}, got ${shown}`,
        suggestions: [],
      }),
    )
  })

  test('accepts heads of keys that several heads of queries share', () => {
    const parts = {
      query: ofShape(1, 6, 5, 7),
      key: ofShape(1, 2, 5, 7),
      value: ofShape(1, 2, 5, 7),
    }
    expect(() => checkAttentionShapes('f', parts)).not.toThrow()
  })
})

describe('firstRows', () => {
  test('keeps the first rows of every head', () => {
    const array = toAttentionArray(counting(0, 2, 3, 5, 7), 'q')
    const {shape, data} = firstRows(array, 2)
    expect(shape).toEqual([2, 3, 2, 7])
    for (let head = 0; head < 6; head++) {
      for (let i = 0; i < 14; i++) expect(data[head * 14 + i]).toBe(head * 35 + i)
    }
  })

  test('returns the array itself when nothing is cut', () => {
    const array = ofShape(2, 3, 5, 7)
    expect(firstRows(array, 5)).toBe(array)
  })
})
