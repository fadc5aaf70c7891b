import * as tf from '@tensorflow/tfjs-core'

/**
 * Logarithms of positive features, up to the constant `-ln(M)/2`: `w_s.x - |x|^2/2`.
 *
 * @param projected - W x, `[N, L, M]`
 * @param halfNorm - |x|^2/2, `[N, L, 1]`
 * @returns `[N, L, M]`
 *
 * Source: Choromanski et al. 2021, arXiv:2009.14794, Lemma 1.
 */
export function logPositive(projected: tf.Tensor3D, halfNorm: tf.Tensor3D): tf.Tensor3D {
  return tf.sub(projected, halfNorm)
}
