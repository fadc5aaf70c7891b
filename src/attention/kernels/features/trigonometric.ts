import {tf} from '../../../tf.js'

/**
 * Random Fourier features of the Gaussian kernel: `M^(-1/2) [sin W x, cos W x]`, all sines first.
 *
 * @param projected - W x, `[N, L, M]`
 * @returns `[N, L, 2M]`
 *
 * Source: Rahimi & Recht 2007; Peng et al. 2021, arXiv:2103.02143, Theorem 1 (its printed factor 1/D
 * is a square root).
 */
export function trigonometric(projected: tf.Tensor3D): tf.Tensor3D {
  const scale = projected.shape[2] ** -0.5
  return tf.mul(tf.concat([tf.sin(projected), tf.cos(projected)], 2), scale)
}
