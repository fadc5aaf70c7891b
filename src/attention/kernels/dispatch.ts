/**
 * Fused or composite: each operation of this folder is defined once, in TensorFlow.js operations
 * (the composite, which is differentiable and runs on every backend), and a backend may register a
 * fused kernel under the operation's name. TensorFlow.js's own kernel registry is the dispatcher.
 * While gradients are recorded a fused kernel runs only where the operation brings its gradient; that is itself made of
 * operations that have gradients, so that derivatives of any order can be taken.
 */

import {expected, type RfaError} from '../../errors.js'
import {tf} from '../../tf.js'

/** How an operation ran. */
export type OperationForm = 'fused' | 'composite'

/** The gradient of an operation by its inputs. */
export interface Gradient<Attributes = unknown> {
  /** Names of the inputs that it needs. Default none. */
  inputsToSave?: string[]
  /** Which outputs it needs. Default none. */
  outputsToSave?: boolean[]
  /**
   * @param dys - slopes of the output, or of each of several
   * @param saved - the inputs it needs, and then the outputs
   * @param attributes - of the call
   * @returns by the names of inputs, each made when asked for
   */
  gradFunc(
    dys: tf.Tensor | tf.Tensor[],
    saved: tf.Tensor[],
    attributes: Attributes,
  ): Record<string, () => tf.Tensor>
}

let recorder: Map<string, OperationForm> | undefined

/**
 * Runs the backend's fused kernel `name` where one is registered, else the composite definition.
 *
 * @param name - kernel name, also the name in records
 * @param inputs - tensors, as a fused kernel receives them
 * @param attributes - plain values, as a fused kernel receives them
 * @param composite - the definition
 * @param gradient - of the fused kernel in this call. Default: the composite runs while gradients are recorded
 */
export function fusedOrComposite<Attributes extends object>(
  name: string,
  inputs: Record<string, tf.Tensor | undefined>,
  attributes: Attributes,
  composite: () => tf.Tensor[],
  gradient?: Gradient<Attributes>,
): tf.Tensor[] {
  const recorded = recordsGradients()
  const known = tf.getKernel(name, tf.getBackend()) != null
  const fused = known && (gradient !== undefined || !recorded)
  recordForm(name, fused ? 'fused' : 'composite')
  if (!fused) return composite()
  if (recorded && gradient) {
    const {inputsToSave, outputsToSave} = gradient
    // TensorFlow.js takes it from here into the tape as the kernel is called: that of this call, with its attributes
    tf.registerGradient({
      ...{kernelName: name, inputsToSave, outputsToSave},
      gradFunc: (dys, saved) => gradient.gradFunc(dys, saved, attributes),
    })
  }
  const present = Object.fromEntries(Object.entries(inputs).filter(([, tensor]) => tensor))
  const result: tf.Tensor | tf.Tensor[] = tf
    .engine()
    .runKernel(name, present as tf.NamedTensorMap, attributes as tf.NamedAttrMap)
  return Array.isArray(result) ? result : [result]
}

/** Inputs of one decode step: the token, the state that is updated in place, what features need. */
export type StepInputs = Record<string, tf.Tensor | undefined>

/**
 * The backend's fused decode step `name`, called without the engine's bookkeeping, which would cost more
 * than a token. Its caller keeps the state tensors and passes the same attributes object every time.
 *
 * @returns `undefined` where the backend has none
 */
export function fusedStep(
  name: string,
): ((inputs: StepInputs, attributes: object) => tf.Tensor4D) | undefined {
  const kernel = tf.getKernel(name, tf.getBackend())
  const engine = tf.engine()
  if (!kernel || recordsGradients(engine)) return undefined
  const backend = tf.backend()
  return (inputs, attributes) => {
    if (recordsGradients(engine)) throw stepHasNoGradient()
    recordForm(name, 'fused')
    const out = kernel.kernelFunc({inputs, attrs: attributes as tf.NamedAttrMap, backend})
    return engine.makeTensorFromTensorInfo(out as tf.TensorInfo, backend) as tf.Tensor4D
  }
}

/** Notes in which form an operation ran. */
export function recordForm(name: string, form: OperationForm): void {
  recorder?.set(name, form)
}

/** TensorFlow.js's engine, whose module its package does not declare. */
type Engine = ReturnType<typeof tf.engine>

/** Whether a gradient tape is open. */
export function recordsGradients(engine: Engine = tf.engine()): boolean {
  return engine.state.gradientDepth > 0
}

function stepHasNoGradient(): RfaError {
  const got = 'a step that updates its state in place'
  const remedy = 'make the decoder inside the differentiated function'
  const other = 'use attention()'
  return expected('UNSUPPORTED', 'decoder', 'no gradient to be recorded', got, remedy, other)
}

/** Runs `body` and returns which operations it used, and in which form. */
export function recordOperations<T>(body: () => T): {
  result: T
  operations: Record<string, OperationForm>
} {
  const outer = recorder
  recorder = new Map()
  try {
    const result = body()
    return {result, operations: Object.fromEntries([...recorder].sort())}
  } finally {
    recorder = outer
  }
}
