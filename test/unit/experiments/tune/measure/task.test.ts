import {describe, expect, it} from 'vitest'
import {attend, tf} from '../../../../../src/attention/index.js'
import {useBackend} from '../../../../../src/backends/index.js'
import {learn} from '../../../../../src/experiments/tune/measure/learn.js'
import {numbersOf, problemOf} from '../../../../../src/experiments/tune/measure/problem.js'
import {errorsOf, lossOf} from '../../../../../src/experiments/tune/measure/task.js'
import type {AttentionArray} from '../../../../../src/inputs/attention-input.js'
import {normals, randomStream} from '../../../../../src/random/index.js'
import {registerGradients} from '../../../../../src/tf.js'

const RATE = 0.01

function array(name: string): AttentionArray {
  const shape: AttentionArray['shape'] = [1, 3, 7, 5]
  const drawn = normals(randomStream(0, `test.tune.${name}`), 105)
  return {shape, data: Float32Array.from(drawn)}
}

describe('a method on a layer', () => {
  it('learns the temperatures that its outputs were made with', async () => {
    await registerGradients()
    await useBackend('cpu')
    const [query, key, value] = ['q', 'k', 'v'].map(array)
    const input = {query: query!, key: key!, value: value!}
    const own = problemOf({...input, label: 'made', extras: new Map(), metadata: {}}, 0.5, {
      causal: false,
    })
    const options = {method: 'favor-pos', numFeatures: 8, seed: 3}
    const factors = [0.6, 1, 1.4]
    const wanted = tf.tensor(factors, [1, 3, 1, 1])
    const exact = attend(
      ...([tf.mul(own.query, wanted), tf.mul(own.key, wanted)] as [tf.Tensor4D, tf.Tensor4D]),
      own.value,
      {...options, scale: 0.5},
    ).out
    const squares = tf.sum(tf.square(exact), [0, 2, 3], true)
    const weights = tf.mul(tf.ones([1, 1, 7, 1]), tf.div(1, squares)) as tf.Tensor4D
    const problem = {...own, exact, weights}
    const heldOut = (parameters: object) =>
      errorsOf(problem, options, {...parameters}).reduce((sum, error) => sum + error, 0) / 3
    const {parameters} = await learn({
      start: {temperature: tf.zeros([3])},
      loss: parameters => lossOf(problem, options, parameters),
      heldOut,
      ...{steps: 300, learningRate: RATE, goesOn: async () => true},
    })
    // from 0 to log 0.6 are 51 steps; beyond the minimum Adam goes on until its mean of gradients, with a memory of ten steps, turns
    numbersOf(parameters.temperature!).forEach((temperature, head) => {
      expect(Math.abs(temperature - Math.log(factors[head]!))).toBeLessThan(RATE / (1 - 0.9))
    })
    expect(heldOut({})).toBeGreaterThan(100 * heldOut(parameters))
  })
})
