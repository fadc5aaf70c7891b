import {beforeAll, describe, expect, it} from 'vitest'
import {tf} from '../../../../src/attention/index.js'
import {useBackend} from '../../../../src/backends/index.js'
import {optimiserOf} from '../../../../src/model/trained/index.js'
import {registerGradients} from '../../../../src/tf.js'

beforeAll(async () => {
  await useBackend('auto', {threads: 1})
  await registerGradients()
})

describe('the optimiser', () => {
  it('takes steps of Adam, says the loss before each and leaves nothing behind', () => {
    const begin = tf.memory().numTensors
    const values = Float32Array.from([1, -2])
    const optimiser = optimiserOf([{name: 'x', shape: [2], values}])
    const loss = (): tf.Scalar => tf.sum(tf.square(optimiser.weight('x')))
    const held = tf.memory().numTensors
    expect(optimiser.step(loss, {learningRate: 0.1})).toBe(5)
    expect(tf.memory().numTensors).toBe(held)
    // the first step of Adam moves every entry by the rate
    const [x, y] = optimiser.weight('x').dataSync()
    expect(x).toMatchReference(0.9, 6)
    expect(y).toMatchReference(-1.9, 6)
    for (let step = 0; step < 100; step++) optimiser.step(loss, {learningRate: 0.1})
    expect(optimiser.step(loss, {learningRate: 0.1})).toBeLessThan(0.05)
    optimiser.dispose()
    expect(tf.memory().numTensors).toBe(begin)
  })

  it('shortens gradients that are too long, all by one factor', () => {
    const optimiser = optimiserOf([{name: 'x', shape: [2], values: Float32Array.from([3, 4])}])
    const loss = (): tf.Scalar => tf.mul(0.5, tf.sum(tf.square(optimiser.weight('x'))))
    // with an epsilon far below them, the second step of Adam tells gradients by their ratio to the first
    optimiser.step(loss, {learningRate: 1e-3, maxGradientNorm: 1})
    const [x] = optimiser.weight('x').dataSync()
    expect(x).toMatchReference(3 - 1e-3, 6)
    const long = () => tf.mul(1000, loss()) as tf.Scalar
    optimiser.step(long, {learningRate: 1e-3, maxGradientNorm: 1})
    // the shortened gradient is the same as before but for the small step: Adam moves as far again
    expect(optimiser.weight('x').dataSync()[0]).toMatchReference(3 - 2e-3, 5)
    optimiser.dispose()
  })

  it('names gradients as weights are named', () => {
    const optimiser = optimiserOf([
      {name: 'a', shape: [], values: Float32Array.from([3])},
      {name: 'b', shape: [], values: Float32Array.from([5])},
    ])
    const {grads} = optimiser.gradients(() => tf.mul(optimiser.weight('a'), optimiser.weight('b')))
    expect([grads.a!.dataSync()[0], grads.b!.dataSync()[0]]).toEqual([5, 3])
    optimiser.dispose()
  })
})
