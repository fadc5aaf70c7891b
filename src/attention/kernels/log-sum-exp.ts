import * as tf from '@tensorflow/tfjs-core'
import {fusedOrComposite} from './dispatch.js'

/**
 * `log sum exp` over the last axis, which stays with length 1.
 *
 * @param x - at least one axis, the last one not empty
 */
export function logSumExp<T extends tf.Tensor>(x: T): T {
  const [out] = fusedOrComposite('LogSumExp', {x}, {}, () => [tf.logSumExp(x, -1, true)])
  return out as T
}
