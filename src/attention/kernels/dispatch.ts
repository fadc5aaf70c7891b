/**
 * Fused or composite: each operation of this folder is defined once, in TensorFlow.js operations
 * (the composite, which is differentiable and runs on every backend), and a backend may register a
 * fused kernel under the operation's name. TensorFlow.js's own kernel registry is the dispatcher.
 */
import * as tf from '@tensorflow/tfjs-core'

/** How an operation ran. */
export type OperationForm = 'fused' | 'composite'

let recorder: Map<string, OperationForm> | undefined

/**
 * Runs the backend's fused kernel `name` where one is registered, else the composite definition.
 *
 * @param name - kernel name, also the name in records
 * @param inputs - tensors, as a fused kernel receives them
 * @param attributes - plain values, as a fused kernel receives them
 * @param composite - the definition
 */
export function fusedOrComposite(
  name: string,
  inputs: Record<string, tf.Tensor | undefined>,
  attributes: Record<string, unknown>,
  composite: () => tf.Tensor[],
): tf.Tensor[] {
  const fused = tf.getKernel(name, tf.getBackend()) != null
  recorder?.set(name, fused ? 'fused' : 'composite')
  if (!fused) return composite()
  const present = Object.fromEntries(Object.entries(inputs).filter(([, tensor]) => tensor))
  const result: tf.Tensor | tf.Tensor[] = tf
    .engine()
    .runKernel(name, present as tf.NamedTensorMap, attributes as tf.NamedAttrMap)
  return Array.isArray(result) ? result : [result]
}

/** Runs `body` and tells which operations it used and in which form. */
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
