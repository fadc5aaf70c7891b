import {tf} from '../../tf.js'
import type {Inputs} from './checks.js'
import {fusedOrComposite} from './dispatch.js'
import {
  CAUSAL_GRADIENTS,
  causalFeatureGradientSizes,
  type SideAttributes,
} from './feature-checks.js'

/**
 * Gradients of `causalFeatureAttention` by each of its inputs that is there. A fused kernel forms features again, chunk
 * by chunk, in time that is linear in L, and keeps nothing of L x F numbers.
 *
 * @param inputs - of the operation by name
 * @param outputs - its output and the slopes of that, `[B, H, L, Dv]`
 * @param definition - of the operation
 * @returns by name, each as its input
 */
export function causalFeatureGradient(
  inputs: Inputs<tf.Tensor>,
  outputs: {out: tf.Tensor | undefined; slopes: tf.Tensor},
  attributes: SideAttributes,
  definition: (inputs: Inputs<tf.Tensor>, attributes: SideAttributes) => tf.Tensor[],
): Record<string, tf.Tensor> {
  const all = {...inputs, ...outputs}
  causalFeatureGradientSizes(all, attributes)
  const names = CAUSAL_GRADIENTS.filter(name => inputs[name])
  const form = () => {
    const total = (...tensors: tf.Tensor[]) => {
      const changed = Object.fromEntries(names.map((name, at) => [name, tensors[at]]))
      const [out] = definition({...inputs, ...changed}, attributes)
      return tf.sum(tf.mul(out!, outputs.slopes)) as tf.Scalar
    }
    return tf.grads(total)(names.map(name => inputs[name]!))
  }
  const made = fusedOrComposite('CausalFeatureGradient', all, attributes, form)
  return Object.fromEntries(names.map((name, at) => [name, made[at]!]))
}
