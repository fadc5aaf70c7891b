import {tf} from '../../tf.js'
import {MASKED} from './masking.js'
import type {SoftmaxAttentionResult} from './softmax-attention.js'

/**
 * Exact attention over two disjoint sets of keys from that over each:
 * `out = (e^{lse_a} out_a + e^{lse_b} out_b) / (e^{lse_a} + e^{lse_b})`, `lse = log(e^{lse_a} + e^{lse_b})`, all
 * relative to the larger one, so that the divisor lies in [1, 2]. Rows that see no key stay zero.
 */
export function mergeSoftmax(
  a: SoftmaxAttentionResult,
  b: SoftmaxAttentionResult,
): SoftmaxAttentionResult {
  // finite where a row sees nothing, so that differences are numbers
  const lseA = tf.maximum(a.lse, MASKED)
  const lseB = tf.maximum(b.lse, MASKED)
  const top = tf.maximum(lseA, lseB)
  const weightA = tf.exp(tf.sub(lseA, top))
  const weightB = tf.exp(tf.sub(lseB, top))
  const total = tf.add(weightA, weightB)
  const share = (out: tf.Tensor4D, weight: tf.Tensor) =>
    tf.mul(out, tf.expandDims(tf.div(weight, total), 3))
  return {
    out: tf.add(share(a.out, weightA), share(b.out, weightB)) as tf.Tensor4D,
    lse: tf.add(top, tf.log(total)) as tf.Tensor3D,
  }
}
