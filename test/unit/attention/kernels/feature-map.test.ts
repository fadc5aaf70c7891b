import * as tf from '@tensorflow/tfjs-core'
import {beforeAll, describe, expect, it} from 'vitest'
import {eluPlusOne, featureMap} from '../../../../src/attention/index.js'
import {useBackend} from '../../../../src/backends/index.js'
import {compute} from '../../../helpers/arrays.js'
import {runnableBackends} from '../../../helpers/backends.js'
import {assertWithin, constantBound, U} from '../../../helpers/rounding.js'

const backends = await runnableBackends()

/** W x = [1, -2] and |x|^2/2 = 2.5 for the first head; rows swapped for the second. */
const X = [1, 2]
const ROWS = [
  [1, 0],
  [0, -1],
]

describe.each(backends)('featureMap on %s', backend => {
  beforeAll(() => useBackend(backend))

  const root = Math.SQRT1_2
  it.each([
    ['log-positive', [-1.5, -4.5]],
    ['log-hyperbolic', [-1.5, -4.5, -3.5, -0.5]],
    ['relu', [1, 0]],
    ['trigonometric', [Math.sin(1), Math.sin(-2), Math.cos(1), Math.cos(-2)].map(f => f * root)],
  ] as const)('%s has its documented order and scale, shared or per head', (kind, expected) => {
    const swapped = expected.map((_, s) => expected[s - (s % 2) + (1 - (s % 2))]!)
    const [shared, perHead] = compute(() => {
      const x = tf.tensor4d([...X, ...X], [1, 2, 1, 2])
      const both = tf.tensor3d([ROWS, [...ROWS].reverse()])
      return [featureMap(x, tf.tensor2d(ROWS), kind), featureMap(x, both, kind)]
    })
    // one dot of two exact terms, one elementary function, one product: values below 4.5
    const bound = constantBound(2 * expected.length, 4.5 * 8 * U)
    assertWithin('shared', shared!, [...expected, ...expected], bound)
    assertWithin('per head', perHead!, [...expected, ...swapped], bound)
  })

  it.each([
    ['log-positive', undefined, [3 - 12.5, -4 - 12.5, 0, 0]],
    ['relu', 0.5, [1.5, 0, 0, 0]],
    ['trigonometric', 2, [[3, -4].map(Math.sin), [3, -4].map(Math.cos), [0, 0], [1, 1]].flat()],
  ] as const)(
    '%s of tokens that are scaled before and features after',
    (kind, featureScale, of) => {
      const scaling = {inputScale: 10, unitNorm: true, normEpsilon: 5, featureScale}
      // of length 5, and divided by 5 + 5
      const [features] = compute(() => [
        featureMap(tf.tensor4d([3, 4, 0, 0], [1, 1, 2, 2]), tf.tensor2d(ROWS), kind, scaling),
      ])
      const factor = kind === 'trigonometric' ? 2 * root : 1
      // beside the above: a length, a sum, a quotient and two products
      const bound = constantBound(of.length, 12.5 * 16 * U)
      assertWithin(
        'scaled',
        features!,
        of.map(f => f * factor),
        bound,
      )
    },
  )

  it('elu(x) + 1 keeps its relative accuracy down to small values', () => {
    const inputs = [-80, -20, -1, -1e-3, 0, 1e-3, 1, 50]
    const out = compute(() => eluPlusOne(tf.tensor4d(inputs, [1, 1, 8, 1])))
    const expected = inputs.map(Math.fround).map(x => (x > 0 ? x + 1 : Math.exp(x)))
    const bound = expected.map(value => 8 * U * value)
    assertWithin('elu + 1', out, expected, bound)
    expect(out.every(x => x > 0)).toBe(true)
  })
})
