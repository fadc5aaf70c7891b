import {tf} from '../../tf.js'
import type {Inputs} from './checks.js'
import {fusedOrComposite} from './dispatch.js'
import {
  LINEAR_GRADIENTS,
  type LinearAttributes,
  linearAttentionGradientSizes,
} from './feature-checks.js'

/** Slopes of both outputs of `linearAttention`; the outputs themselves where it divides. */
interface LinearOutputs {
  slopes: tf.Tensor // [B, H, L, Dv]
  denominatorSlopes: tf.Tensor // [B, H, L]
  out: tf.Tensor | undefined
  denominator: tf.Tensor | undefined
}

/**
 * Gradients of `linearAttention` by each of its inputs that is there. A fused kernel forms features again, chunk by
 * chunk, and keeps nothing of L x F numbers. The positive factor that numerator and denominator of a query share under
 * `keyLogWeight` counts as constant: only what depends on their quotient has a gradient then.
 *
 * @param inputs - of the operation by name
 * @param definition - of the operation
 * @returns by name, each as its input
 *
 * Source: Katharopoulos et al. 2020, arXiv:2006.16236, eq. 13-15; gates: Yang et al. 2024, arXiv:2312.06635, section 4.
 */
export function linearAttentionGradient(
  inputs: Inputs<tf.Tensor>,
  outputs: LinearOutputs,
  attributes: LinearAttributes,
  definition: (inputs: Inputs<tf.Tensor>, attributes: LinearAttributes) => tf.Tensor[],
): Record<string, tf.Tensor> {
  const all = {...inputs, ...outputs}
  linearAttentionGradientSizes(all, attributes)
  const names = LINEAR_GRADIENTS.filter(name => inputs[name])
  const {slopes, denominatorSlopes} = outputs
  const form = () => {
    const total = (...tensors: tf.Tensor[]) => {
      const changed = Object.fromEntries(names.map((name, at) => [name, tensors[at]]))
      const [out, denominator] = definition({...inputs, ...changed}, attributes)
      return tf.add(
        tf.sum(tf.mul(out!, slopes)),
        tf.sum(tf.mul(denominator!, denominatorSlopes)),
      ) as tf.Scalar
    }
    return tf.grads(total)(names.map(name => inputs[name]!))
  }
  const made = fusedOrComposite('LinearAttentionGradient', all, attributes, form)
  return Object.fromEntries(names.map((name, at) => [name, made[at]!]))
}
