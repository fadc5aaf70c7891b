import * as tf from '@tensorflow/tfjs-core'
import {beforeAll, describe, expect, it} from 'vitest'
import {matMul} from '../../../../src/attention/kernels/index.js'
import {useBackend} from '../../../../src/backends/index.js'
import {compute, hostNormals} from '../../../helpers/arrays.js'
import {exactBackends, runnableBackends} from '../../../helpers/backends.js'
import {assertWithin, gamma} from '../../../helpers/rounding.js'

const backends = await runnableBackends()
const exact = await exactBackends()

// above and below the size at which a batch is taken apart
const SIZES = [
  {rows: 3, inner: 5, columns: 7},
  {rows: 29, inner: 31, columns: 37},
]
const BATCHES = [
  [1, 1],
  [3, 3],
  [3, 1],
  [1, 3],
] as const

describe.each(backends)('matMul on %s', backend => {
  beforeAll(() => useBackend(backend))

  const cases = SIZES.flatMap(size =>
    BATCHES.flatMap(([left, right]) =>
      [false, true].flatMap(transposeA =>
        [false, true].map(transposeB => ({...size, left, right, transposeA, transposeB})),
      ),
    ),
  )

  it.each(cases)(
    '$left x $rows x $inner times $right x $inner x $columns, transposed $transposeA $transposeB',
    ({rows, inner, columns, left, right, transposeA, transposeB}) => {
      const a = hostNormals('a', [1, left, rows, inner]).data
      const b = hostNormals('b', [1, right, inner, columns]).data
      const batch = Math.max(left, right)
      const expected = new Float64Array(batch * rows * columns)
      const bound = new Float64Array(expected.length)
      expected.forEach((_, at) => {
        const n = Math.floor(at / (rows * columns))
        const [i, j] = [Math.floor(at / columns) % rows, at % columns]
        for (let k = 0; k < inner; k++) {
          const x = a[((left === 1 ? 0 : n) * rows + i) * inner + k]!
          const term = x * b[((right === 1 ? 0 : n) * inner + k) * columns + j]!
          expected[at]! += term
          bound[at]! += gamma(inner) * Math.abs(term)
        }
      })
      const out = compute(() => {
        const first = tf.tensor3d(Float32Array.from(a), [left, rows, inner])
        const second = tf.tensor3d(Float32Array.from(b), [right, inner, columns])
        return matMul(
          transposeA ? tf.transpose(first, [0, 2, 1]) : first,
          transposeB ? tf.transpose(second, [0, 2, 1]) : second,
          transposeA,
          transposeB,
        )
      })
      assertWithin('matMul', out, expected, bound)
    },
  )

  // TensorFlow's order of summation depends on the processor
  const isExact = exact.includes(backend)
  const name = 'of one pair is what it is in a batch, bit by bit, over %i terms'
  it.runIf(isExact).each([31, 131])(name, inner => {
    const [a, b] = [hostNormals('a', [1, 3, 7, inner]), hostNormals('b', [1, 3, inner, 5])]
    const product = (count: number) =>
      compute(() => {
        const left = tf.tensor3d(Float32Array.from(a.data), [3, 7, inner])
        const right = tf.tensor3d(Float32Array.from(b.data), [3, inner, 5])
        return matMul(
          tf.slice(left, [0, 0, 0], [count, 7, inner]),
          tf.slice(right, [0, 0, 0], [count, inner, 5]),
        )
      })
    expect(product(1)).toEqual(product(3).slice(0, 7 * 5))
  })
})
