import {tf} from '../../../tf.js'

/**
 * Logarithms of positive features, up to the constant `-ln(M)/2`: `w_s.x - |x|^2/2`.
 *
 * @param projected - W x, `[N, L, M]`
 * @param halfNorm - |x|^2/2, `[N, L, 1]`
 * @returns `[N, L, M]`
 *
 * Only the logarithm is formed: w.x grows with |x| and |w|, and exp overflows float32 beyond 88.7. Whoever sums
 * features subtracts a maximum first: of all keys, or per feature where queries get it back, but never one per key,
 * which would weigh keys anew.
 *
 * Source: Choromanski et al. 2021, arXiv:2009.14794, Lemma 1.
 */
export function logPositive(projected: tf.Tensor3D, halfNorm: tf.Tensor3D): tf.Tensor3D {
  return tf.sub(projected, halfNorm)
}
