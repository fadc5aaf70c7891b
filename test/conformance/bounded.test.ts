import * as tf from '@tensorflow/tfjs-core'
import {beforeAll, describe, expect, it} from 'vitest'
import {softmaxAttention} from '../../src/attention/index.js'
import {useBackend} from '../../src/backends/index.js'
import {compute, hostInputs, hostNormals, SMALL, toTensors} from '../helpers/arrays.js'
import {runnableBackends} from '../helpers/backends.js'
import {
  add,
  attend,
  type BoundedMatrix,
  div,
  exactly,
  exp,
  filled,
  hide,
  layerNorm,
  log,
  matMul,
  mul,
  scale,
  softmaxRows,
  sqrt,
  stackRows,
} from '../helpers/bounded.js'
import {assertWithin} from '../helpers/rounding.js'

const ROWS = 7
const COLUMNS = 5

/** A matrix of normals, exact in float32. */
function matrix(name: string, rows = ROWS, columns = COLUMNS, size = 1): BoundedMatrix {
  return exactly(hostNormals(name, [1, 1, rows, columns], size).data, rows, columns)
}

function tensorOf({value, rows, columns}: BoundedMatrix): tf.Tensor2D {
  return tf.tensor2d(Float32Array.from(value), [rows, columns])
}

const a = matrix('a')
const b = matrix('b')
const wide = matrix('wide', ROWS, 131, 30)
const positive = exactly(
  a.value.map(x => Math.fround(x * x + 0.1)),
  ROWS,
  COLUMNS,
)

const OPERATIONS: {name: string; twin: BoundedMatrix; run(): tf.Tensor}[] = [
  {name: 'add', twin: add(a, b), run: () => tf.add(tensorOf(a), tensorOf(b))},
  {name: 'mul', twin: mul(a, b), run: () => tf.mul(tensorOf(a), tensorOf(b))},
  {name: 'div', twin: div(a, positive), run: () => tf.div(tensorOf(a), tensorOf(positive))},
  {name: 'scale', twin: scale(a, 0.1), run: () => tf.mul(tensorOf(a), 0.1)},
  {name: 'exp', twin: exp(scale(a, 3)), run: () => tf.exp(tf.mul(tensorOf(a), 3))},
  {name: 'log', twin: log(positive), run: () => tf.log(tensorOf(positive))},
  {name: 'sqrt', twin: sqrt(positive), run: () => tf.sqrt(tensorOf(positive))},
  {
    name: 'a chain of products',
    twin: matMul(matMul(a, b, true), wide),
    run: () => tf.matMul(tf.matMul(tensorOf(a), tensorOf(b), false, true), tensorOf(wide)),
  },
  {name: 'softmax', twin: softmaxRows(wide), run: () => tf.softmax(tensorOf(wide))},
  {
    name: 'layer norm',
    twin: layerNorm(wide, 1e-5, matrix('weight', 1, 131), matrix('bias', 1, 131)),
    run: () => {
      const x = tensorOf(wide)
      const {mean, variance} = tf.moments(x, -1, true)
      const normal = tf.mul(tf.sub(x, mean), tf.rsqrt(tf.add(variance, 1e-5)))
      return tf.add(
        tf.mul(normal, tensorOf(matrix('weight', 1, 131))),
        tensorOf(matrix('bias', 1, 131)),
      )
    },
  },
]

describe.each(await runnableBackends())('running error analysis on %s', backend => {
  beforeAll(() => useBackend(backend))

  it.each(OPERATIONS)('bounds $name', ({name, twin, run}) => {
    const found = assertWithin(name, compute(run), twin.value, twin.error)
    expect(found.decidable).toBe(twin.value.length)
  })

  it.each([1, 30])('bounds exact attention with a key bias, inputs times %d', size => {
    const sizes = {...SMALL, batch: 1, heads: 1}
    const inputs = hostInputs(sizes, size)
    const bias = matrix('keyBias', sizes.keyLen, 1, 5)
    const {queryLen, keyLen, headDim, valueDim} = sizes
    const {query, key, value} = inputs
    const twin = attend(
      exactly(query.data, queryLen, headDim),
      exactly(key.data, keyLen, headDim),
      exactly(value.data, keyLen, valueDim),
      {scale: 0.3, keyBias: bias, sees: (i, j) => j <= i},
    )
    const [out, lse] = compute(() => {
      const keyBias = tf.tensor3d(Float32Array.from(bias.value), [1, 1, keyLen])
      const result = softmaxAttention(...toTensors(inputs), {scale: 0.3, keyBias, causal: true})
      return [result.out, result.lse]
    }) as [Float32Array, Float32Array]
    assertWithin('out', out, twin.out.value, twin.out.error)
    assertWithin('lse', lse, twin.lse.value, twin.lse.error)
  })
})

describe('running error analysis', () => {
  it('gives a row of hidden keys as exact zeros', () => {
    const hidden = softmaxRows(hide(a, row => row !== 2))
    const row = [2 * COLUMNS, 3 * COLUMNS] as const
    expect(Array.from(hidden.value.slice(...row))).toEqual(new Array(COLUMNS).fill(0))
    expect(Array.from(hidden.error.slice(...row))).toEqual(new Array(COLUMNS).fill(0))
  })

  it('decides nothing about a quotient whose denominator may be zero', () => {
    const doubtful = {...filled(1, 1, 1e-9), error: Float64Array.of(1e-8)}
    expect(div(filled(1, 1, 1), doubtful).error[0]).toBe(Infinity)
  })

  it('refuses shapes that do not fit', () => {
    expect(() => matMul(a, b)).toThrow('cannot multiply 7 x 5 by 7 x 5')
    expect(() => stackRows(a, wide)).toThrow('cannot stack 131 on 5 columns')
    expect(() => add(a, wide)).toThrow('cannot pair')
  })
})
