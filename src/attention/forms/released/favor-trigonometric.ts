/** Trigonometric features as google-research's and HKU's codes scale them. */
import {tf} from '../../../tf.js'
import {halfSquaredNorm} from '../../kernels/index.js'

/**
 * `exp(|x|^2/2 - its maximum over the sequence)`, `[B, H, n, 1]`, in place of the exact factor. The shift is one
 * number per head and cancels in the ratio, but tokens far shorter than the longest underflow.
 */
export function shiftedNorms(x: tf.Tensor4D): tf.Tensor {
  const halfNorm = tf.expandDims(halfSquaredNorm(x), -1)
  return tf.exp(tf.sub(halfNorm, tf.max(halfNorm, -2, true)))
}
