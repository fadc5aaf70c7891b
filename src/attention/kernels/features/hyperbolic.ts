import {tf} from '../../../tf.js'

/**
 * Logarithms of hyperbolic features, up to the constant `-ln(2M)/2`: `+-w_s.x - |x|^2/2`, all plus
 * signs first.
 *
 * @param projected - W x, `[N, L, M]`
 * @param halfNorm - |x|^2/2, `[N, L, 1]`
 * @returns `[N, L, 2M]`
 *
 * Source: Choromanski et al. 2021, arXiv:2009.14794, Lemma 1 (hyperbolic form).
 */
export function logHyperbolic(projected: tf.Tensor3D, halfNorm: tf.Tensor3D): tf.Tensor3D {
  return tf.sub(tf.concat([projected, tf.neg(projected)], 2), halfNorm)
}
