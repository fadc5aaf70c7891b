import {tf} from '../../../tf.js'

/**
 * Rectified projections: `relu(W x)`, without the factor `M^(-1/2)`.
 *
 * @param projected - W x, `[N, L, M]`
 * @returns `[N, L, M]`
 *
 * Source: Choromanski et al. 2021, arXiv:2009.14794, section 2.4 (generalised attention).
 */
export function rectified(projected: tf.Tensor3D): tf.Tensor3D {
  return tf.relu(projected)
}
