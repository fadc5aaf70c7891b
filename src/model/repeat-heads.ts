/** Heads of keys and values repeated for the heads of queries that share them. */
import {repeatedHeads} from '../inputs/grouped-heads.js'
import {tf} from '../tf.js'

/** Backends with tensors in memory of JavaScript: there TensorFlow.js joins them entry by entry. */
const ON_HOST: readonly string[] = ['native', 'cpu']

/**
 * Repeats heads so that each query head has its own: head j becomes heads `j G .. j G + G - 1`, as in inputs.
 *
 * @param tensor - `[B, Hkv, S, D]`
 * @param heads - H, a multiple of Hkv
 * @returns `[B, H, S, D]`; `tensor` itself if it has the same number of heads
 */
export function repeatHeads(tensor: tf.Tensor4D, heads: number): tf.Tensor4D {
  const [batch, own, length, dim] = tensor.shape
  if (own === heads) return tensor
  const shape: tf.Tensor4D['shape'] = [batch, heads, length, dim]
  if (ON_HOST.includes(tf.getBackend())) {
    return tf.tensor4d(repeatedHeads(tensor.dataSync<'float32'>(), tensor.shape, heads), shape)
  }
  return tf.tidy(() => {
    const rows = tf.reshape(tensor, [batch * own, 1, length * dim])
    return tf.reshape(tf.concat(Array<tf.Tensor>(heads / own).fill(rows), 1), shape)
  })
}
