import {tf} from '../../tf.js'
import {type DenseActivation, type DenseAttributes, denseSizes} from './checks.js'
import {fusedOrComposite, type Gradient, recordsGradients} from './dispatch.js'

/** Options of {@link dense}. */
export interface DenseOptions {
  /** `[out]`. Default none. */
  bias?: tf.Tensor1D | undefined
  /** The matrix is stored as `[out, in]`, as PyTorch's linear layers have it. Default false. */
  transposed?: boolean
  /** Default `linear`. */
  activation?: DenseActivation
}

const ACTIVATIONS: Readonly<Record<DenseActivation, (x: tf.Tensor2D) => tf.Tensor2D>> = {
  linear: x => x,
  relu: x => tf.relu(x), // tf loads at its first use
  gelu,
  'gelu-tanh': geluTanh,
  silu,
}

/**
 * A layer of a network, `activation(x W + b)`. On `native`, gelu and gelu-tanh of `y` are within 8 2^-24 |y|, silu within
 * 4 ULP; elsewhere gelu is within 2 10^-7 |y|.
 *
 * @param x - `[N, in]`
 * @param weight - `[in, out]`, or `[out, in]`
 * @returns `[N, out]`
 * @throws {SHAPE_MISMATCH} when shapes do not fit together
 * @throws {BAD_OPTION} for a tensor that is not float32 or was disposed, or an option of the wrong type
 */
export function dense(
  x: tf.Tensor2D,
  weight: tf.Tensor2D,
  {bias, transposed = false, activation = 'linear'}: DenseOptions = {},
): tf.Tensor2D {
  const inputs = {x, weight, bias}
  denseSizes(inputs, {transposed, activation})
  // from the output of these two their own slope can be told
  const fused = activation === 'linear' || activation === 'relu' ? activation : 'linear'
  const apart = recordsGradients() && fused !== activation
  const attributes = {transposed, activation: apart ? fused : activation}
  const form = () => {
    const product: tf.Tensor2D = tf.matMul(x, weight, false, transposed)
    const shifted: tf.Tensor2D = bias ? tf.add(product, bias) : product
    return [ACTIVATIONS[attributes.activation](shifted)]
  }
  const [out] = fusedOrComposite('Dense', inputs, attributes, form, GRADIENT)
  return apart ? ACTIVATIONS[activation](out as tf.Tensor2D) : (out as tf.Tensor2D)
}

/** Of `linear` and `relu`. */
const GRADIENT: Gradient<DenseAttributes> = {
  inputsToSave: ['x', 'weight'],
  outputsToSave: [true],
  gradFunc(dy, saved, {transposed, activation}) {
    const [x, weight, y] = saved as [tf.Tensor2D, tf.Tensor2D, tf.Tensor2D]
    const slopes = (activation === 'relu' ? tf.mul(dy as tf.Tensor, tf.step(y)) : dy) as tf.Tensor2D
    return {
      x: () => tf.matMul(slopes, weight, false, !transposed),
      weight: () => (transposed ? tf.matMul(slopes, x, true) : tf.matMul(x, slopes, true)),
      bias: () => tf.sum(slopes, 0),
    }
  },
}

/** `x Phi(x)`, Phi the normal distribution function. */
function gelu(x: tf.Tensor2D): tf.Tensor2D {
  return tf.mul(tf.mul(x, 0.5), tf.add(tf.erf(tf.mul(x, Math.SQRT1_2)), 1))
}

/** Its approximation `x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2`. */
function geluTanh(x: tf.Tensor2D): tf.Tensor2D {
  const inner = tf.mul(x, tf.add(tf.mul(tf.square(x), 0.044715), 1))
  const tanh = tf.tanh(tf.mul(inner, Math.sqrt(2 / Math.PI)))
  return tf.mul(tf.mul(x, 0.5), tf.add(tanh, 1))
}

/** `x / (1 + e^(-x))`. */
function silu(x: tf.Tensor2D): tf.Tensor2D {
  return tf.div(x, tf.add(tf.exp(tf.neg(x)), 1))
}
