import * as tf from '@tensorflow/tfjs-core'
import fc from 'fast-check'
import {expect, it} from 'vitest'
import {useBackend} from '../../src/backends/index.js'
import {normals, randomStream} from '../../src/random/index.js'
import {compute} from '../helpers/arrays.js'
import {assertWithin, ELEMENTARY, gamma, TINY, U} from '../helpers/rounding.js'
import {describeNative, describeOnEachIsa} from './addon.js'
import {guarded} from './guards.js'

/** Normal draws of a shape; the same for the same name. */
function draw(name: string, shape: number[], scale = 1): tf.Tensor {
  const size = shape.reduce((product, axis) => product * axis, 1)
  const values = normals(randomStream(1, name), size)
  return tf.tensor(
    Float32Array.from(values, x => x * scale),
    shape,
  )
}

/** The values of `body` on the plain JavaScript backend and on native, outputs guarded there. */
async function onBoth(body: () => tf.Tensor): Promise<{judge: Float32Array; actual: Float32Array}> {
  await useBackend('cpu')
  const judge = compute(body)
  await useBackend('native')
  return {judge, actual: guarded(() => compute(body))}
}

// lengths around vectors of 1, 4, 8 and 16 floats and their unrolled multiples
const LENGTHS = [0, 1, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 1009]

const ELEMENTARY_FUNCTIONS = {
  exp: tf.exp,
  log: (x: tf.Tensor) => tf.log(tf.abs(x)),
  sin: tf.sin,
  cos: tf.cos,
  elu: tf.elu,
}
const EXACT_FUNCTIONS = {
  relu: tf.relu,
  square: tf.square,
  neg: tf.neg,
  abs: tf.abs,
  sqrt: (x: tf.Tensor) => tf.sqrt(tf.abs(x)),
}
const ARITHMETIC = {
  add: tf.add,
  sub: tf.sub,
  mul: tf.mul,
  div: tf.div,
  maximum: tf.maximum,
  minimum: tf.minimum,
}

describeNative('tensor operations', addon => {
  describeOnEachIsa(addon, () => {
    it.each(Object.entries(ELEMENTARY_FUNCTIONS))(
      '%s of any length is within the rounding of both libraries',
      async (name, apply) => {
        for (const length of LENGTHS) {
          const {judge, actual} = await onBoth(() => apply(draw(name, [length], 7)))
          // the argument of log and exp is exact; elu below 0 is exp(x) - 1, at most 1 in magnitude
          const bound = judge.map(y => (ELEMENTARY + 1) * U * Math.max(Math.abs(y), 1) + TINY)
          assertWithin(`${name} of ${length}`, actual, judge, bound)
        }
      },
    )

    it.each(Object.entries(EXACT_FUNCTIONS))(
      '%s of any length has the bits of JavaScript',
      async (name, apply) => {
        for (const length of LENGTHS) {
          const {judge, actual} = await onBoth(() => apply(draw(name, [length], 7)))
          expect(actual).toEqual(judge)
        }
      },
    )

    it.each(Object.entries(ARITHMETIC))(
      '%s has the bits of JavaScript for every broadcast',
      async (name, apply) => {
        const axis = fc.integer({min: 1, max: 9})
        const shapes = fc
          .array(fc.tuple(axis, fc.constantFrom('both', 'a', 'b')), {minLength: 0, maxLength: 6})
          .chain(axes =>
            fc.tuple(
              fc.constant(axes),
              fc.integer({min: 0, max: axes.length}), // leading axes that b lacks
            ),
          )
        await fc.assert(
          fc.asyncProperty(shapes, async ([axes, lacking]) => {
            const a = axes.map(([n, owner]) => (owner === 'b' ? 1 : n))
            const b = axes.map(([n, owner]) => (owner === 'a' ? 1 : n)).slice(lacking)
            const {judge, actual} = await onBoth(() =>
              apply(draw(`${name}.a`, a), draw(`${name}.b`, b)),
            )
            expect(actual).toEqual(judge)
          }),
          {numRuns: 60, seed: 20260},
        )
      },
    )

    it('leaves integers and truth values to the CPU backend', async () => {
      const body = () => {
        const x = tf.tensor1d([3, -7, 11], 'int32')
        return tf.concat([tf.add(x, x), tf.square(x), tf.cast(tf.greater(x, 0), 'int32')])
      }
      const {judge, actual} = await onBoth(body)
      expect(actual).toEqual(judge)
    })

    it.each([
      [[3, 5, 7], 1],
      [[17], 0],
      [[2, 3, 5, 65], 3],
      [[129, 1], 1],
      [[5, 7, 11], 0],
    ])('sum and max of %j along axis %i keep the bound of a sum', async (shape, axis) => {
      const name = shape.join()
      const n = shape[axis]!
      const sum = await onBoth(() => tf.sum(draw(name, shape), axis, true))
      const {judge: magnitude} = await onBoth(() => tf.sum(tf.abs(draw(name, shape)), axis, true))
      const bound = magnitude.map(m => 2 * gamma(n) * m)
      assertWithin(`sum of ${name}`, sum.actual, sum.judge, bound)
      const max = await onBoth(() => tf.max(draw(name, shape), axis))
      expect(max.actual).toEqual(max.judge)
    })

    it.each([[[3, 1]], [[5, 17]], [[2, 3, 65]], [[7, 257]]])(
      'softmax and log-sum-exp over the last axis of %j are within rounding',
      async shape => {
        const name = shape.join()
        const n = shape.at(-1)!
        const logits = () => draw(name, shape, 5)
        const largest = compute(() => tf.max(tf.abs(logits())))[0]!
        const {judge, actual} = await onBoth(() => tf.softmax(logits()))
        // an exponential of a difference: 2 u of its magnitude in the argument; sum and quotient
        const relative = 2 * (2 * U * 2 * largest + (2 * ELEMENTARY + 2) * U + gamma(n))
        assertWithin(
          `softmax of ${name}`,
          actual,
          judge,
          judge.map(p => relative * p + TINY),
        )
        await useBackend('native')
        const {logSumExp} = await import('../../src/attention/kernels/log-sum-exp.js')
        const lse = guarded(() => compute(() => logSumExp(logits())))
        const exact = rowLogSums(compute(logits), n)
        const absolute = relative + 2 * U * (largest + Math.log(n)) + ELEMENTARY * U * Math.log(n)
        assertWithin(
          `lse of ${name}`,
          lse,
          exact,
          exact.map(() => absolute),
        )
      },
    )

    it.each([
      [
        [3, 5],
        [1, 0],
      ],
      [
        [2, 3, 5, 7],
        [0, 2, 1, 3],
      ],
      [
        [2, 3, 5, 7],
        [0, 1, 3, 2],
      ],
      [
        [17, 65],
        [1, 0],
      ],
      [
        [1, 129, 33],
        [0, 2, 1],
      ],
      [
        [3, 1, 5, 2, 7],
        [4, 2, 0, 3, 1],
      ],
      [
        [0, 3],
        [1, 0],
      ],
    ])('transpose of %j by %j moves every bit', async (shape, perm) => {
      const {judge, actual} = await onBoth(() => tf.transpose(draw('transpose', shape), perm))
      expect(actual).toEqual(judge)
    })

    const products = [
      {a: [1, 1, 1], b: [1, 1, 1]},
      {a: [3, 5, 7], b: [3, 7, 11]},
      {a: [1, 17, 65], b: [3, 65, 33]},
      {a: [3, 63, 16], b: [1, 16, 64]},
      {a: [2, 3, 9, 31], b: [2, 3, 31, 129]},
      {a: [4, 3, 9, 31], b: [1, 3, 31, 17]}, // matrices of heads repeat for each text
      {a: [1, 3, 9, 31], b: [2, 3, 31, 17]},
      {a: [3, 5, 7], b: [2, 2, 3, 7, 4]},
      {a: [2, 1, 5, 7], b: [1, 3, 7, 11]}, // each side repeats along an axis of its own
      {a: [2, 0, 7], b: [2, 7, 3]},
      {a: [2, 5, 0], b: [2, 0, 3]},
    ]
    for (const {a, b} of products) {
      for (const [transposeA, transposeB] of [
        [false, false],
        [false, true],
        [true, false],
        [true, true],
      ] as const) {
        const title = `${a.join('x')} by ${b.join('x')}${transposeA ? ', a transposed' : ''}${transposeB ? ', b transposed' : ''}`
        it(`matMul of ${title} is within the bound of a sum of products`, async () => {
          const swapped = (shape: number[]) => [...shape.slice(0, -2), shape.at(-1)!, shape.at(-2)!]
          const left = () => draw(`${title}.a`, transposeA ? swapped(a) : a)
          const right = () => draw(`${title}.b`, transposeB ? swapped(b) : b)
          const product = (x: tf.Tensor, y: tf.Tensor) => tf.matMul(x, y, transposeA, transposeB)
          const {judge, actual} = await onBoth(() => product(left(), right()))
          const magnitude = compute(() => product(tf.abs(left()), tf.abs(right())))
          const bound = magnitude.map(m => 2 * gamma(a.at(-1)! + 1) * m)
          assertWithin(title, actual, judge, bound)
        })
      }
    }

    it.each(['linear', 'relu', 'relu6', 'elu'] as const)(
      'matMul with bias and %s is within its bound',
      async activation => {
        const body = (f: (x: tf.Tensor) => tf.Tensor) => () =>
          tf.fused.matMul({
            a: f(draw('fused.a', [2, 5, 17])) as tf.Tensor3D,
            b: f(draw('fused.b', [2, 17, 13])) as tf.Tensor3D,
            bias: f(draw('fused.bias', [13])),
            activation,
          })
        const {judge, actual} = await onBoth(body(x => x))
        const {judge: magnitude} = await onBoth(() => {
          const product = tf.matMul(
            tf.abs(draw('fused.a', [2, 5, 17])),
            tf.abs(draw('fused.b', [2, 17, 13])),
          )
          return tf.add(product, tf.abs(draw('fused.bias', [13])))
        })
        // every activation has slope at most 1
        const bound = magnitude.map(m => 2 * gamma(19) * m + (ELEMENTARY + 1) * U)
        assertWithin(activation, actual, judge, bound)
      },
    )
  })

  it('reads views that start off every alignment', async () => {
    await useBackend('native')
    const values = Float32Array.from({length: 200}, (_, i) => i - 57)
    for (const start of [1, 3, 5, 7]) {
      const view = values.subarray(start, start + 131)
      const sums = compute(() => tf.add(tf.tensor1d(view), tf.tensor1d(view)))
      expect(sums).toEqual(view.map(x => 2 * x))
    }
  })

  it('keeps the shape of an empty result', async () => {
    await useBackend('native')
    const empty = tf.add(tf.zeros([0, 3]), tf.ones([1, 3]))
    expect(empty.shape).toEqual([0, 3])
    expect(tf.max(tf.zeros([2, 0]), 1).arraySync()).toEqual([-Infinity, -Infinity])
    empty.dispose()
  })
})

function rowLogSums(logits: Float32Array, columns: number): Float64Array {
  return Float64Array.from({length: logits.length / columns}, (_, row) => {
    const values = [...logits.subarray(row * columns, (row + 1) * columns)]
    const top = Math.max(...values)
    return top + Math.log(values.reduce((sum, x) => sum + Math.exp(x - top), 0))
  })
}
