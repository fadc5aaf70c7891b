import * as tf from '@tensorflow/tfjs-core'
import {expect, it} from 'vitest'
import {type AdamParameter, adamStep} from '../../../../src/attention/internal.js'
import {useBackend} from '../../../../src/backends/index.js'
import {normals, randomStream} from '../../../../src/random/index.js'
import {compute} from '../../../helpers/arrays.js'
import {runnableBackends} from '../../../helpers/backends.js'
import {assertWithin, gamma, TINY} from '../../../helpers/rounding.js'

const SHAPES = [[5, 7], [3]]
const [STEPS, RATE, EPSILON] = [4, 0.05, 1e-3]

const draw = (name: string, size: number) =>
  Float32Array.from(normals(randomStream(1, `test.adam.${name}`), size))

/** The algorithm in double precision; each step rounds its means, and what it is of the value, some 20 times. */
function twin(at: number, size: number) {
  const value = Float64Array.from(draw(`value${at}`, size))
  const error = value.map(Math.abs)
  const [first, second, magnitude] = [0, 1, 2].map(() => new Float64Array(size))
  for (let step = 1; step <= STEPS; step++) {
    draw(`gradient${at}.${step}`, size).forEach((g, i) => {
      first![i] = 0.9 * first![i]! + 0.1 * g
      magnitude![i] = 0.9 * magnitude![i]! + 0.1 * Math.abs(g)
      second![i] = 0.999 * second![i]! + 0.001 * g * g
      const scale = RATE / (1 - 0.9 ** step)
      const size = Math.sqrt(second![i]! / (1 - 0.999 ** step)) + EPSILON
      value[i]! -= (scale * first![i]!) / size
      error[i]! += (scale * magnitude![i]!) / size
    })
  }
  return {value, bound: error.map(each => gamma(20 * STEPS) * each + TINY)}
}

it.each(await runnableBackends())('adamStep is Adam, on %s', async backend => {
  await useBackend(backend)
  SHAPES.forEach((shape, at) => {
    const out = compute(() => {
      let all = SHAPES.map((own, n) => {
        const size = own.reduce((product, axis) => product * axis, 1)
        const value: tf.Tensor = tf.tensor(draw(`value${n}`, size), own)
        return {value, first: tf.zerosLike(value), second: tf.zerosLike(value)}
      })
      for (let step = 1; step <= STEPS; step++) {
        const parameters = all.map((parts, n): AdamParameter => {
          const gradient = tf.tensor(draw(`gradient${n}.${step}`, parts.value.size), SHAPES[n]!)
          return {...parts, gradient}
        })
        all = adamStep(parameters, {step, learningRate: RATE, epsilon: EPSILON})
      }
      return all[at]!.value
    })
    const {value, bound} = twin(at, out.length)
    assertWithin(`parameter ${at} of ${shape}`, out, value, bound)
  })
})

it('refuses parts of other shapes, and numbers that are none', () => {
  const [value, gradient] = [tf.zeros([3]), tf.zeros([4])]
  const parameter = {value, gradient: value, first: value, second: value}
  const step = (parts: AdamParameter, learningRate = 1) =>
    adamStep([parts], {step: 1, learningRate})
  expect(() => step({...parameter, gradient})).toThrow(
    /AdamStep: expected gradient0 \[3\], got \[4\]/,
  )
  expect(() => step(parameter, Number.NaN)).toThrow(expect.objectContaining({code: 'BAD_OPTION'}))
})
