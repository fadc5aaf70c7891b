/** Rows of attention weights of a method, held against those of exact attention. */
import {attend, tf} from '../../../attention/index.js'
import type {Problem} from './problem.js'

/** Weights below it count as this: its logarithm and its inverse are numbers of float32, with products to spare. */
const LEAST_WEIGHT = 1e-20

/** Values that outputs of attention are the weights of, `[B, H, S, S]`. */
export function identityValues({key}: Pick<Problem, 'key'>): tf.Tensor4D {
  const [batch, heads, length] = key.shape
  return tf.tidy(() =>
    tf.tile(tf.reshape(tf.eye(length), [1, 1, length, length]), [batch, heads, 1, 1]),
  )
}

/**
 * Cross entropy of rows of exact attention with those of a method, `-sum_j p_ij ln q_ij`, mean over the queries that count, `[H]`:
 * in nats. Zhang et al. 2024, arXiv:2402.04347, section 4.2.
 *
 * @param rows - q, `[B, H, L, S]`
 */
export function crossEntropies(rows: tf.Tensor4D, problem: Problem): tf.Tensor1D {
  const {target, counts, scale, view} = problem
  const exact = tf.tidy(() => {
    const {query, key, keyMask} = target
    const masked = keyMask && {keyMask}
    const options = {method: 'softmax-online', scale, ...view, ...masked}
    const shares = tf.div(counts, tf.sum(counts))
    return tf.mul(attend(query, key, identityValues(target), options).out, shares) as tf.Tensor4D
  })
  // in one piece: the gradients of clipping and of the logarithm would keep three more matrices
  const entropies = tf.customGrad((own, save) => {
    if (typeof save !== 'function') throw new TypeError('expected one tensor')
    save([own as tf.Tensor4D, exact])
    const logarithms = tf.log(tf.maximum(own as tf.Tensor4D, LEAST_WEIGHT))
    return {
      value: tf.neg(tf.sum(tf.mul(exact, logarithms), [0, 2, 3])),
      gradFunc: (slope: tf.Tensor, [given, wanted]: tf.Tensor[]) => {
        const weights = tf.maximum(given!, LEAST_WEIGHT)
        const seen = tf.cast(tf.greater(given!, LEAST_WEIGHT), 'float32')
        const factors = tf.mul(seen, tf.reshape(tf.neg(slope), [1, -1, 1, 1]))
        return tf.mul(tf.div(wanted!, weights), factors)
      },
    }
  })
  return entropies(rows) as tf.Tensor1D
}
