/** Hyperbolic features as fast-transformers forms them: explicitly, with a shift by norms or without any. */
import {tf} from '../../../tf.js'
import {featureMap} from '../../kernels/index.js'
import type {Projection} from '../../types.js'
import type {PhiInputs} from '../feature-map.js'

/** `phi(x) exp(-max |x|^2)`, the largest norm of the sequence, or phi(x) itself, which overflows where W x passes 88. */
export function releasedPhi({
  inputScale,
  projection,
  options,
}: PhiInputs<{stabilizer: 'log' | 'none' | 'norm-max'}>) {
  return (q: tf.Tensor4D): tf.Tensor4D => {
    const x: tf.Tensor4D = tf.mul(q, inputScale)
    const plain = hyperbolicFeatures(x, projection!)
    if (options.stabilizer === 'none') return plain
    const largest = tf.max(tf.sum(tf.square(x), -1, true), -2, true) // over the sequence
    return tf.mul(plain, tf.exp(tf.neg(largest)))
  }
}

/** `(2M)^(-1/2) exp(-|x|^2/2) [exp(W x), exp(-W x)]`, `[B, H, n, 2M]`. */
export function hyperbolicFeatures(x: tf.Tensor4D, projection: Projection): tf.Tensor4D {
  const scale = (2 * projection.shape.at(-2)!) ** -0.5
  return tf.mul(tf.exp(featureMap(x, projection, 'log-hyperbolic')), scale)
}
