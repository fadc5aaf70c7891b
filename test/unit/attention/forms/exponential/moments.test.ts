import * as tf from '@tensorflow/tfjs-core'
import {beforeAll, describe, expect, it} from 'vitest'
import type {AttendInputs} from '../../../../../src/attention/forms/estimator.js'
import {momentsOf, sampleOf} from '../../../../../src/attention/forms/exponential/moments.js'
import {useBackend} from '../../../../../src/backends/index.js'
import {
  hostInputs,
  maskTensor,
  SMALL,
  scatteredMask,
  sliceRows,
  toTensors,
} from '../../../../helpers/arrays.js'
import {assertWithin, gamma} from '../../../../helpers/rounding.js'

beforeAll(() => useBackend('cpu'))

const inputs = hostInputs(SMALL)
const mask = scatteredMask(SMALL)
const {headDim, heads, keyLen, queryLen} = SMALL

/** Rows of one head that count. */
function rowsOf(side: 'query' | 'key', head: number, keep: (row: number) => boolean) {
  const length = side === 'query' ? queryLen : keyLen
  const data = sliceRows(inputs[side], 0, length).data
  return Array.from({length}, (_, i) => i)
    .filter(keep)
    .map(i => data.subarray((head * length + i) * headDim, (head * length + i + 1) * headDim))
}

describe('moments', () => {
  it('are the means of present tokens, of each head by itself', () => {
    const scale = 0.7
    const found = tf.tidy(() => {
      const [query, key] = toTensors(inputs)
      const keyMask = maskTensor(mask, SMALL.batch)
      return JSON.parse(
        JSON.stringify(
          momentsOf({query, key, keyMask}, scale, 'full').map(({mean, squares, outer}) => ({
            mean: [...mean.key],
            squares: [...squares.query],
            outer: [...outer.key],
          })),
        ),
      )
    })
    found.forEach((head: {mean: number[]; squares: number[]; outer: number[]}, index: number) => {
      const batch = Math.floor(index / heads)
      const keys = rowsOf('key', index, j => mask[batch * keyLen + j] === 1)
      const queries = rowsOf('query', index, () => true)
      const mean = (rows: ArrayLike<number>[], of: (row: ArrayLike<number>) => number) =>
        rows.reduce((sum, row) => sum + of(row), 0) / rows.length
      const compare = (
        name: string,
        actual: number[],
        rows: ArrayLike<number>[],
        of: (row: ArrayLike<number>, at: number) => number,
        power: number,
      ) => {
        const expected = actual.map((_, at) => mean(rows, row => of(row, at)) * scale ** power)
        const size = actual.map((_, at) => mean(rows, row => Math.abs(of(row, at))))
        const bound = size.map(s => gamma(rows.length + 3) * s)
        assertWithin(`${name} of head ${index}`, actual, expected, bound)
      }
      compare('mean', head.mean, keys, (row, d) => row[d]!, 1)
      compare('squares', head.squares, queries, (row, d) => row[d]! ** 2, 2)
      const pair = (row: ArrayLike<number>, at: number) =>
        row[Math.floor(at / headDim)]! * row[at % headDim]!
      compare('outer', head.outer, keys, pair, 2)
    })
  })

  it('are zero where no key is present, and where none are asked for', () => {
    tf.tidy(() => {
      const [query, key] = toTensors(inputs)
      const keyMask: tf.Tensor2D = tf.zeros([SMALL.batch, keyLen])
      const [head] = momentsOf({query, key, keyMask}, 1, 'diagonal')
      expect([...head!.mean.key, ...head!.squares.key].every(x => x === 0)).toBe(true)
      expect(head!.outer.key).toHaveLength(0)
      const none = momentsOf({query, key}, 1, 'none')
      expect(none).toHaveLength(SMALL.batch * heads)
      expect(none[0]!.squares.query).toEqual(new Float64Array(headDim))
    })
  })
})

describe('the sample', () => {
  const sample = (given: Partial<AttendInputs<{prefix: number}>>) =>
    tf.tidy(() => {
      const [query, key, value] = toTensors(inputs)
      const keyMask = maskTensor(mask, SMALL.batch)
      const base = {query, key, value, keyMask, causal: false, options: {prefix: 5}}
      const found = sampleOf({...base, ...given} as AttendInputs<{prefix: number}>)
      return [found.query.shape[2], found.key.shape[2], found.keyMask?.shape[1] ?? 0]
    })

  it('is the whole call, a prefix of it when causal, or the calibration', () => {
    expect(sample({})).toEqual([queryLen, keyLen, keyLen])
    expect(sample({causal: true})).toEqual([5, 5, 5])
    expect(sample({causal: true, options: {prefix: 12}})).toEqual([12, keyLen, keyLen])
    expect(sample({causal: true, options: {prefix: 0}})).toEqual([queryLen, keyLen, keyLen])
    const tokens: tf.Tensor4D = tf.zeros([2, 3, 4, headDim])
    const calibration = {query: tokens, key: tokens}
    expect(sample({causal: true, calibration})).toEqual([4, 4, 0])
    tokens.dispose()
  })
})
