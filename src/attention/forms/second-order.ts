import {tf} from '../../tf.js'

/**
 * Second-order Taylor features `[1, x, x_a^2 / sqrt(2), x_a x_b for a < b]`: inner products are
 * `1 + s + s^2/2`, s = x.y. Each pair stands once, so there are D (D + 1) / 2 products instead of D^2; x times
 * itself rolled by 1 to D/2.
 *
 * @param x - `[B, H, L, D]`
 * @returns `[B, H, L, 1 + D + D (D + 1) / 2]`
 *
 * Source: Arora et al. 2024, arXiv:2402.18668; Zhang et al. 2024, arXiv:2402.04347.
 */
export function secondOrder(x: tf.Tensor4D): tf.Tensor4D {
  const [batch, heads, length, headDim] = x.shape
  const columns = (tensor: tf.Tensor4D, first: number, width: number) =>
    tf.slice(tensor, [0, 0, 0, first], [batch, heads, length, width])
  const twice = tf.concat([x, x], 3)
  const products: tf.Tensor4D[] = []
  for (let shift = 1; 2 * shift <= headDim; shift++) {
    const width = 2 * shift === headDim ? shift : headDim // half a turn meets each pair twice
    products.push(tf.mul(columns(x, 0, width), columns(twice, shift, width)))
  }
  const ones = tf.ones<tf.Rank.R4>([batch, heads, length, 1])
  return tf.concat([ones, x, tf.mul(tf.square(x), Math.SQRT1_2) as tf.Tensor4D, ...products], 3)
}

/** Number of features, `1 + D + D (D + 1) / 2`. */
export function secondOrderDim(headDim: number): number {
  return 1 + headDim + (headDim * (headDim + 1)) / 2
}
