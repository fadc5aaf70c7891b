import {tf} from '../../../tf.js'
import {checkTensor} from '../../check-tensor.js'

/**
 * `elu(x) + 1` elementwise: `x + 1` above zero, `exp(x)` below; always positive. Formed without the
 * detour over `exp(x) - 1`, which would lose the small values of strongly negative x.
 *
 * @param x - `[B, H, L, D]`
 * @returns `[B, H, L, D]`
 * @throws {BAD_OPTION} for a tensor that is not float32 or was disposed
 *
 * Source: Katharopoulos et al. 2020, arXiv:2006.16236, eq. 7.
 */
export function eluPlusOne<T extends tf.Tensor>(x: T): T {
  checkTensor('eluPlusOne', x)
  return tf.add(tf.relu(x), tf.exp(tf.minimum(x, 0)))
}
