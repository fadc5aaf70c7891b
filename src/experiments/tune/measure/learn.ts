/** Steps of Adam, with an eye on held-out tokens. */
import {tf} from '../../../attention/index.js'
import {type AdamParameter, adamStep} from '../../../attention/internal.js'
import {finiteOrNull} from '../../../stats/index.js'
import type {TuneResult} from '../schema.js'
import type {Parameters} from './parameters.js'
import {numbersOf} from './problem.js'

/** Steps between two looks at held-out tokens. */
const LOOK_EVERY = 5
/** Looks without a lower error after which learning ends. */
const PATIENCE = 4

export interface Task {
  /** Where learning starts; disposed of. */
  start: Parameters
  /** What a step lowers. @param step - from 1 */
  loss(parameters: Parameters, step: number): tf.Scalar
  /** The same on held-out tokens. */
  heldOut(parameters: Parameters): number
  /** What the curve has of a loss. Default: its root, as losses are means over heads of squared relative errors. */
  inCurve?(loss: number): number
  steps: number
  learningRate: number
  /** Called after every step. @returns whether to go on */
  goesOn(step: number): Promise<boolean>
}

export interface Lesson
  extends Pick<TuneResult, 'curve' | 'steps_taken' | 'best_step' | 'stopped'> {
  /** Those of the lowest held-out error, owned by who asked. */
  parameters: Parameters
}

/** No loss depends on what is to be learned: all gradients are zero. */
export class WithoutEffect extends Error {}

/** A parameter with the running means of its gradient. */
type State = Record<string, Omit<AdamParameter, 'gradient'>>

/**
 * Learns until all steps are taken, the held-out error has not fallen for some, or a loss is not finite.
 *
 * @returns the parameters of the lowest held-out error, those of the start among them
 */
export async function learn(task: Task): Promise<Lesson> {
  const {inCurve = Math.sqrt} = task
  const pointOf = (step: number, learned: number, heldOut: number) => ({
    ...{step, learned_error: finiteOrNull(inCurve(learned))},
    held_out_error: finiteOrNull(inCurve(heldOut)),
  })
  let state = startState(task.start)
  let best = {step: 0, error: task.heldOut(valuesOf(state)), parameters: clones(state)}
  const curve: TuneResult['curve'] = []
  let step = 0
  let stopped: TuneResult['stopped'] = 'steps'
  while (step < task.steps) {
    const {loss, next} = stepOf(task, state, step + 1)
    if (step === 0) curve.push(pointOf(0, loss, best.error))
    if (!Number.isFinite(loss)) {
      stopped = 'not_finite'
      break
    }
    disposeState(state)
    state = next
    step++
    const goesOn = await task.goesOn(step)
    if (step % LOOK_EVERY !== 0 && step < task.steps && goesOn) continue
    const error = task.heldOut(valuesOf(state))
    curve.push(pointOf(step, loss, error))
    if (error < best.error) {
      tf.dispose(best.parameters)
      best = {step, error, parameters: clones(state)}
    }
    if (step - best.step >= PATIENCE * LOOK_EVERY) stopped = 'no_better'
    else if (!goesOn && step < task.steps) stopped = 'interrupted'
    if (stopped !== 'steps') break
  }
  disposeState(state)
  return {parameters: best.parameters, curve, steps_taken: step, best_step: best.step, stopped}
}

/** One step. @returns the state after it, to be disposed of; the loss before it */
function stepOf(task: Task, state: State, step: number): {loss: number; next: State} {
  const names = Object.keys(state)
  const own = names.map(name => state[name]!)
  const lossOf = (...values: tf.Tensor[]) =>
    task.loss(Object.fromEntries(names.map((name, at) => [name, values[at]!])), step)
  const {value, stepped} = tf.tidy(() => {
    const {value, grads} = tf.valueAndGrads(lossOf)(own.map(({value}) => value))
    if (step === 1 && areZero(grads, value)) throw new WithoutEffect()
    const parameters = own.map((one, at): AdamParameter => ({...one, gradient: grads[at]!}))
    return {value, stepped: adamStep(parameters, {step, learningRate: task.learningRate})}
  })
  const [loss] = numbersOf(value)
  value.dispose()
  return {loss: loss!, next: Object.fromEntries(names.map((name, at) => [name, stepped[at]!]))}
}

function startState(start: Parameters): State {
  return Object.fromEntries(
    Object.entries(start).map(([name, value]) => [
      name,
      {value, first: tf.zerosLike(value), second: tf.zerosLike(value)},
    ]),
  )
}

function valuesOf(state: State): Parameters {
  return Object.fromEntries(Object.entries(state).map(([name, {value}]) => [name, value]))
}

function clones(state: State): Parameters {
  return Object.fromEntries(Object.entries(state).map(([name, {value}]) => [name, tf.clone(value)]))
}

function disposeState(state: State): void {
  for (const {value, first, second} of Object.values(state)) tf.dispose([value, first, second])
}

/** Gradients that are at most this part of the loss are made of roundings of float32. */
const ROUNDING = 1e-5

function areZero(gradients: readonly tf.Tensor[], loss: tf.Tensor): boolean {
  const [value] = numbersOf(loss)
  return gradients.every(gradient =>
    numbersOf(gradient).every(slope => Math.abs(slope) <= ROUNDING * value!),
  )
}
