import {tf} from '../../tf.js'
import {
  type DenseActivation,
  type DenseAttributes,
  denseGradientSizes,
  denseSizes,
} from './checks.js'
import {fusedOrComposite, type Gradient, recordsGradients} from './dispatch.js'

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
  gradFunc(dy, saved, attributes) {
    const [x, weight, out] = saved as [tf.Tensor2D, tf.Tensor2D, tf.Tensor2D]
    const [toX, toWeight, toBias] = denseGradient(
      {x, weight, out, slopes: dy as tf.Tensor2D},
      attributes,
    )
    return {x: () => toX!, weight: () => toWeight!, bias: () => toBias!}
  },
}

/**
 * Gradients of a layer by its inputs, of activation `linear` or `relu`: with slopes `g`, those where the output is above 0,
 * `g W^T`, `x^T g` and the sum of `g` over rows.
 *
 * @param inputs - of the layer; `out` is its output and `slopes` that of the output, `[N, out]`
 * @returns as `x`, as `weight`, and `[out]`
 */
function denseGradient(
  inputs: {x: tf.Tensor2D; weight: tf.Tensor2D; out: tf.Tensor2D; slopes: tf.Tensor2D},
  attributes: DenseAttributes,
): tf.Tensor[] {
  denseGradientSizes(inputs, attributes)
  return fusedOrComposite('DenseGradient', inputs, attributes, () => {
    const {x, weight, out, slopes} = inputs
    const {transposed, activation} = attributes
    const steep: tf.Tensor2D = activation === 'relu' ? tf.mul(slopes, tf.step(out)) : slopes
    return [
      tf.matMul(steep, weight, false, !transposed),
      transposed ? tf.matMul(steep, x, true) : tf.matMul(x, steep, true),
      tf.sum(steep, 0),
    ]
  })
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
