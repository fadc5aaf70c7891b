import {tf} from '../../tf.js'

/** `[N, S, Dv]` to `[N, S, Dv + 1]`: the column of ones makes the denominator part of one product. */
export function withOnes(values: tf.Tensor3D): tf.Tensor3D {
  const [rows, length] = values.shape
  return tf.concat([values, tf.ones([rows, length, 1])], 2) as tf.Tensor3D
}
