/** Weights with an optimiser. */
import {type AdamParameter, adamStep, hostData} from '../../attention/internal.js'
import {tf} from '../../tf.js'
import type {WeightOf} from './forward.js'
import type {NamedWeight} from './sizes.js'

interface StepOptions {
  learningRate: number
  /** Global clipping: gradients of a larger L2 norm, over all weights, are scaled down to it. Default: none */
  maxGradientNorm?: number
}

/** Weights that Adam changes, step by step. */
export interface Optimiser {
  weight: WeightOf
  /** A loss of the weights, and the gradient of each; for the caller to dispose of. */
  gradients(loss: () => tf.Scalar): {loss: tf.Scalar; grads: tf.NamedTensorMap}
  /** One step of Adam. @returns the loss before it */
  step(loss: () => tf.Scalar, options: StepOptions): number
  /** All that the next step depends on: arrays by their names, and the steps taken. */
  state(): OptimiserState
  /** Goes on from a state of the same weights. */
  restore(state: OptimiserState): void
  dispose(): void
}

export interface OptimiserState {
  steps: number
  /** `value.NAME`, `first.NAME` and `second.NAME` for each weight. */
  arrays: Record<string, {shape: number[]; data: Float32Array<ArrayBuffer>}>
}

const PARTS = ['value', 'first', 'second'] as const

/** A weight and the running means of its gradient and of the square of that. */
interface State {
  value: tf.Variable
  first: tf.Variable
  second: tf.Variable
}

/** @param weights - to start from */
export function optimiserOf(weights: readonly NamedWeight[]): Optimiser {
  const states = weights.map(({shape, values}): State => {
    const zeros = () => variableOf(tf.zeros(shape), false)
    return {value: variableOf(tf.tensor(values, shape), true), first: zeros(), second: zeros()}
  })
  const values = states.map(({value}) => value)
  const named = new Map(weights.map(({name}, at) => [name, values[at]!]))
  const names = new Map(weights.map(({name}, at) => [values[at]!.name, name]))
  let steps = 0
  const gradients = (loss: () => tf.Scalar) => {
    const {value, grads} = tf.variableGrads(loss, values)
    const own = Object.entries(grads).map(([id, slope]) => [names.get(id)!, slope] as const)
    return {loss: value, grads: Object.fromEntries(own)}
  }
  return {
    weight: name => named.get(name)!,
    gradients,
    step(loss, {learningRate, maxGradientNorm = Infinity}) {
      steps++
      let before = Number.NaN
      tf.tidy(() => {
        const {loss: value, grads} = gradients(loss)
        before = hostData(() => ({value: tf.clone(value)})).value[0]!
        const slopes = shortened(
          weights.map(({name}) => grads[name]!),
          maxGradientNorm,
        )
        const parameters = states.map(
          (state, at): AdamParameter => ({...state, gradient: slopes[at]!}),
        )
        adamStep(parameters, {step: steps, learningRate}).forEach(({value, first, second}, at) => {
          const state = states[at]!
          state.value.assign(value)
          state.first.assign(first)
          state.second.assign(second)
        })
      })
      return before
    },
    state() {
      const arrays: OptimiserState['arrays'] = {}
      weights.forEach(({name, shape}, at) => {
        for (const part of PARTS) {
          const {data} = hostData(() => ({data: tf.clone(states[at]![part])}))
          arrays[`${part}.${name}`] = {shape, data: Float32Array.from(data)}
        }
      })
      return {steps, arrays}
    },
    restore(state) {
      steps = state.steps
      weights.forEach(({name, shape}, at) => {
        for (const part of PARTS) {
          const {data} = state.arrays[`${part}.${name}`]!
          tf.tidy(() => states[at]![part].assign(tf.tensor(data, shape)))
        }
      })
    },
    dispose: () => tf.dispose(states.flatMap(({value, first, second}) => [value, first, second])),
  }
}

function variableOf(start: tf.Tensor, trainable: boolean): tf.Variable {
  const variable = tf.variable(start, trainable)
  start.dispose()
  return variable
}

/** Gradients with a norm of at most `most`, all together. */
function shortened(gradients: readonly tf.Tensor[], most: number): readonly tf.Tensor[] {
  if (most === Infinity) return gradients
  const {squares} = hostData(() => ({
    squares: tf.addN(gradients.map(slope => tf.sum(tf.square(slope)))),
  }))
  const norm = Math.sqrt(squares[0]!)
  return norm > most ? gradients.map(slope => tf.mul(slope, most / norm)) : gradients
}
