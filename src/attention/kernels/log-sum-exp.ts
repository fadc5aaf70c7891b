import {tf} from '../../tf.js'
import {checkRows} from './checks.js'
import {fusedOrComposite} from './dispatch.js'

/**
 * `log sum exp` over the last axis, which stays with length 1.
 *
 * @param x - at least one axis, the last one not empty
 * @throws {SHAPE_MISMATCH | BAD_OPTION} for another
 */
export function logSumExp<T extends tf.Tensor>(x: T): T {
  checkRows({x})
  const [out] = fusedOrComposite('LogSumExp', {x}, {}, () => [tf.logSumExp(x, -1, true)])
  return out as T
}
