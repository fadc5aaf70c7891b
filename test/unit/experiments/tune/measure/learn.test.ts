import {beforeAll, describe, expect, it} from 'vitest'
import {tf} from '../../../../../src/attention/index.js'
import {useBackend} from '../../../../../src/backends/index.js'
import {learn, type Task, WithoutEffect} from '../../../../../src/experiments/tune/measure/learn.js'
import type {Parameters} from '../../../../../src/experiments/tune/measure/parameters.js'
import {numbersOf} from '../../../../../src/experiments/tune/measure/problem.js'
import {registerGradients} from '../../../../../src/tf.js'

const RATE = 0.1

/** Learns x of the loss (x - target)^2 from 0. */
function quadratic(target: number, own: Partial<Task> = {}): Task {
  const loss = ({x}: Parameters) => tf.square(tf.sub(x!, target)) as tf.Scalar
  return {
    start: {x: tf.scalar(0)},
    loss,
    heldOut: ({x}) => (numbersOf(x!)[0]! - target) ** 2,
    ...{steps: 100, learningRate: RATE, goesOn: async () => true},
    ...own,
  }
}

const xOf = ({parameters}: {parameters: Parameters}) => numbersOf(parameters.x!)[0]!

describe('learning', () => {
  beforeAll(async () => {
    await registerGradients()
    await useBackend('cpu')
  })

  it('comes within a step of the lowest loss', async () => {
    const lesson = await learn(quadratic(2))
    // a step of Adam is about the rate
    expect(Math.abs(xOf(lesson) - 2)).toBeLessThan(RATE)
    expect(lesson.curve[0]).toEqual({step: 0, learned_error: 2, held_out_error: 2})
  })

  it('ends when the held-out error no longer falls, and keeps the best parameters', async () => {
    // what is held out wants 1, what is learned on 5
    const heldOut = ({x}: Parameters) => (numbersOf(x!)[0]! - 1) ** 2
    const lesson = await learn(quadratic(5, {heldOut}))
    expect(lesson.stopped).toBe('no_better')
    expect(lesson.steps_taken).toBe(lesson.best_step + 20)
    // looks are 5 steps apart
    expect(Math.abs(xOf(lesson) - 1)).toBeLessThan(5 * RATE)
  })

  it('keeps the last good parameters where a loss is not finite', async () => {
    const {loss, ...rest} = quadratic(2)
    const breaking = (parameters: Parameters, step: number) =>
      step < 8 ? loss(parameters, step) : (tf.mul(loss(parameters, step), Number.NaN) as tf.Scalar)
    const lesson = await learn({...rest, loss: breaking})
    expect(lesson).toMatchObject({stopped: 'not_finite', steps_taken: 7, best_step: 5})
    expect(xOf(lesson)).toBeGreaterThan(0)
  })

  it('keeps the best parameters so far where it is interrupted', async () => {
    const lesson = await learn(quadratic(2, {goesOn: async step => step < 7}))
    expect(lesson).toMatchObject({stopped: 'interrupted', steps_taken: 7, best_step: 7})
  })

  it('refuses what no loss depends on', async () => {
    const loss = ({x}: Parameters) => tf.mul(x!, 0) as tf.Scalar
    await expect(learn(quadratic(2, {loss}))).rejects.toThrow(WithoutEffect)
  })

  it('leaves no tensors but the parameters', async () => {
    await learn(quadratic(2, {steps: 3}))
    const before = tf.memory().numTensors
    const task = quadratic(2, {steps: 12})
    const {parameters} = await learn(task)
    tf.dispose([parameters.x!])
    expect(tf.memory().numTensors).toBe(before)
  })
})
