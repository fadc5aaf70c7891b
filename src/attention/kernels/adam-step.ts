import {tf} from '../../tf.js'
import {type AdamAttributes, adamCount} from './checks.js'
import {fusedOrComposite} from './dispatch.js'

/** A parameter, its gradient and the running means of that and of its square, all of one shape. */
export interface AdamParameter {
  value: tf.Tensor
  gradient: tf.Tensor
  first: tf.Tensor
  second: tf.Tensor
}

/** What {@link adamStep} takes beside the parameters. */
interface AdamOptions {
  /** Step t, from 1. */
  step: number
  learningRate: number
  /** Default 0.9. */
  beta1?: number
  /** Default 0.999. */
  beta2?: number
  /** Default 1e-8. */
  epsilon?: number
}

/**
 * A step of Adam for all parameters in one call: `m <- beta1 m + (1 - beta1) g`, `v <- beta2 v + (1 - beta2) g^2`,
 * `x <- x - rate m' / (sqrt(v') + epsilon)`, m' and v' divided by `1 - beta^t`.
 *
 * @returns the new value and both means of each parameter
 * @throws {SHAPE_MISMATCH | BAD_OPTION} for parts of other shapes or types, or an option that is not a number
 *
 * Source: Kingma & Ba 2015, arXiv:1412.6980, algorithm 1.
 */
export function adamStep(
  parameters: readonly AdamParameter[],
  {step, learningRate, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8}: AdamOptions,
): Omit<AdamParameter, 'gradient'>[] {
  const entries = parameters.flatMap((parameter, at) =>
    Object.entries(parameter).map(([name, tensor]): [string, tf.Tensor] => [
      `${name}${at}`,
      tensor,
    ]),
  )
  const attributes: AdamAttributes = {
    ...{decay1: beta1, decay2: beta2, epsilon},
    rate: learningRate / (1 - beta1 ** step),
    scale: 1 / (1 - beta2 ** step),
  }
  const inputs = Object.fromEntries(entries)
  adamCount(inputs, attributes)
  const made = fusedOrComposite('AdamStep', inputs, {...attributes}, () =>
    parameters.flatMap(parameter => stepOf(parameter, attributes)),
  )
  return parameters.map((_, at) => {
    const [value, first, second] = made.slice(3 * at) as [tf.Tensor, tf.Tensor, tf.Tensor]
    return {value, first, second}
  })
}

function stepOf(
  {value, gradient, first, second}: AdamParameter,
  {decay1, decay2, rate, scale, epsilon}: AdamAttributes,
): tf.Tensor[] {
  const mean = tf.add(tf.mul(first, decay1), tf.mul(gradient, 1 - decay1))
  const square = tf.add(tf.mul(second, decay2), tf.mul(tf.square(gradient), 1 - decay2))
  const size = tf.add(tf.sqrt(tf.mul(square, scale)), epsilon)
  return [tf.sub(value, tf.div(tf.mul(mean, rate), size)), mean, square]
}
