import {beforeAll, describe, expect, it} from 'vitest'
import {tf} from '../../../../../src/attention/index.js'
import {useBackend} from '../../../../../src/backends/index.js'
import {
  applied,
  learnedArrays,
  startOf,
} from '../../../../../src/experiments/tune/measure/parameters.js'
import {numbersOf} from '../../../../../src/experiments/tune/measure/problem.js'

const SIZES = {heads: 4, keyHeads: 2, headDim: 3}

describe('parameters', () => {
  beforeAll(() => useBackend('cpu'))

  it.each(['temperature', 'maps', 'rows', 'maps,rows'] as const)(
    'of %s start without any change',
    learn => {
      const x = tf.randomNormal([2, 4, 5, 3]) as tf.Tensor4D
      const rows = tf.randomNormal([4, 7, 3])
      const start = startOf({learn}, SIZES, rows)
      for (const side of ['query', 'key'] as const) {
        expect(numbersOf(applied(x, side, start))).toEqual(numbersOf(x))
      }
      const arrays = learnedArrays(start, SIZES)
      expect(arrays.map(({name, shape}) => [name, shape])).toEqual([
        ['query_map', [4, 3, 3]],
        ['key_map', [2, 3, 3]],
        ...(learn.includes('rows') ? [['projection', [4, 7, 3]]] : []),
      ])
    },
  )

  it('of keys are shared by the heads of queries that they serve', () => {
    const key_map = tf.tensor([1, 2], [2, 1, 1])
    const key = tf.ones([1, 4, 1, 1]) as tf.Tensor4D
    expect([...numbersOf(applied(key, 'key', {key_map}))]).toEqual([1, 1, 2, 2])
  })

  it('are a factor times the identity for a temperature', () => {
    const temperature = tf.tensor1d([Math.log(2), Math.log(3)])
    const [query, key] = learnedArrays({temperature}, {...SIZES, headDim: 1})
    const numbers = ({data}: {data: string}) => [
      ...new Float32Array(Uint8Array.from(Buffer.from(data, 'base64')).buffer),
    ]
    const [two, three] = numbers(key!) as [number, number]
    for (const [got, factor] of [
      [two, 2],
      [three, 3],
    ] as const) {
      // float32 rounds the logarithm, and its exponential
      const bound = factor * 2 ** -24 * (Math.log(factor) + 1)
      expect(Math.abs(got - factor)).toBeLessThanOrEqual(bound)
    }
    expect(numbers(query!)).toEqual([two, two, three, three])
  })
})
