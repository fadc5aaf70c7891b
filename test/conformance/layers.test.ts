import * as tf from '@tensorflow/tfjs-core'
import '@tensorflow/tfjs-core/dist/register_all_gradients.js'
import {beforeAll, describe, expect, it} from 'vitest'
import {DENSE_ACTIVATIONS, type DenseActivation} from '../../src/attention/kernels/checks.js'
import {dense, normalizeRows, recordOperations} from '../../src/attention/kernels/index.js'
import {useBackend} from '../../src/backends/index.js'
import {hostNormals} from '../helpers/arrays.js'
import {runnableBackends} from '../helpers/backends.js'
import {U} from '../helpers/rounding.js'

const [ROWS, INNER, COLUMNS] = [5, 7, 19]

const draw = (name: string, ...[a = 1, b = 1]: number[]) =>
  Float32Array.from(hostNormals(`layers.${name}`, [1, 1, a, b]).data)
const [x, weight, bias, scale] = [
  draw('x', ROWS, INNER),
  draw('weight', INNER, COLUMNS),
  draw('bias', COLUMNS),
  draw('scale', INNER),
]
const shift = draw('shift', INNER)

/** The normal distribution function by its series, to double precision for the arguments here. */
function normalDistribution(x: number): number {
  let [sum, term] = [x, x]
  for (let n = 1; Math.abs(term) > 1e-18 && n < 400; n++) {
    term *= (x * x) / (2 * n + 1)
    sum += term
  }
  return 0.5 + (sum * Math.exp((-x * x) / 2)) / Math.sqrt(2 * Math.PI)
}

const ACTIVATIONS: Record<DenseActivation, (x: number) => number> = {
  linear: x => x,
  relu: x => Math.max(x, 0),
  gelu: x => x * normalDistribution(x),
  'gelu-tanh': x => (x / 2) * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  silu: x => x / (1 + Math.exp(-x)),
}

/** Sum with bias, and the sum of magnitudes. */
function affine(row: number, column: number): [number, number] {
  let [sum, magnitude] = [bias[column]!, Math.abs(bias[column]!)]
  for (let k = 0; k < INNER; k++) {
    const product = x[row * INNER + k]! * weight[k * COLUMNS + column]!
    sum += product
    magnitude += Math.abs(product)
  }
  return [sum, magnitude]
}

const backends = await runnableBackends()

describe.each(backends)('layers on %s', backend => {
  beforeAll(() => useBackend(backend))

  it.each(DENSE_ACTIVATIONS)(
    'dense with %s is what its definition says, stored either way',
    activation => {
      tf.tidy(() => {
        const [a, w, b] = [
          tf.tensor2d(x, [ROWS, INNER]),
          tf.tensor2d(weight, [INNER, COLUMNS]),
          tf.tensor1d(bias),
        ]
        const options = {bias: b, activation}
        const turned = tf.transpose(w) as tf.Tensor2D
        for (const out of [
          dense(a, w, options),
          dense(a, turned, {...options, transposed: true}),
        ]) {
          expect(out.shape).toEqual([ROWS, COLUMNS])
          out.dataSync().forEach((got, i) => {
            const [sum, magnitude] = affine(Math.floor(i / COLUMNS), i % COLUMNS)
            // slopes are at most 1.13; erf by its formula is off by 1.5e-7, and the sums in it round
            const bound = 1.13 * (INNER + 2) * U * magnitude + 16 * U * Math.abs(sum)
            expect(Math.abs(got - ACTIVATIONS[activation](sum))).toBeLessThanOrEqual(bound)
          })
        }
      })
    },
  )

  it.each([true, false])(
    'rows have mean square 1 before weights and bias, centred: %s',
    centred => {
      tf.tidy(() => {
        const epsilon = 0.25
        const options = {bias: tf.tensor1d(shift), epsilon, centred}
        const out = normalizeRows(tf.tensor2d(x, [ROWS, INNER]), tf.tensor1d(scale), options)
        const data = out.dataSync()
        for (let row = 0; row < ROWS; row++) {
          const values = [...x.subarray(row * INNER, (row + 1) * INNER)]
          const mean = centred ? values.reduce((sum, v) => sum + v, 0) / INNER : 0
          const squares = values.reduce((sum, v) => sum + (v - mean) ** 2, 0) / INNER
          const largest = Math.max(...values.map(Math.abs))
          values.forEach((value, i) => {
            const wanted = ((value - mean) / Math.sqrt(squares + epsilon)) * scale[i]! + shift[i]!
            const bound =
              4 *
              (INNER + 8) *
              U *
              ((largest * Math.abs(scale[i]!)) / Math.sqrt(epsilon) + Math.abs(wanted))
            expect(Math.abs(data[row * INNER + i]! - wanted)).toBeLessThanOrEqual(bound)
          })
        }
      })
    },
  )

  it('are fused on native alone', () => {
    tf.tidy(() => {
      const a = tf.tensor2d(x, [ROWS, INNER])
      const {operations} = recordOperations(() => [
        dense(a, tf.tensor2d(weight, [INNER, COLUMNS])),
        normalizeRows(a, tf.tensor1d(scale)),
      ])
      const form = backend === 'native' ? 'fused' : 'composite'
      expect(operations).toEqual({Dense: form, NormalizeRows: form})
    })
  })

  it('have gradients', () => {
    tf.tidy(() => {
      const f = (a: tf.Tensor) =>
        tf.sum(dense(a as tf.Tensor2D, tf.tensor2d(weight, [INNER, COLUMNS]), {activation: 'silu'}))
      const slope = tf.grad(f)(tf.tensor2d(x, [ROWS, INNER]))
      expect(slope.shape).toEqual([ROWS, INNER])
      expect(slope.dataSync().every(Number.isFinite)).toBe(true)
    })
  })

  it('refuse an unknown activation by name', () => {
    tf.tidy(() => {
      const call = () =>
        dense(tf.ones([2, 3]), tf.ones([3, 4]), {activation: 'gleu' as DenseActivation})
      expect(call).toThrow(
        /Dense\.activation: expected one of the activations linear, .*, got "gleu"/,
      )
    })
  })
})
