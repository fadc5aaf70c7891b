import {tf} from '../../tf.js'
import {normalizeRowsSizes} from './checks.js'
import {fusedOrComposite} from './dispatch.js'

/** Options of {@link normalizeRows}. */
export interface NormalizeRowsOptions {
  /** `[W]`. Default none. */
  bias?: tf.Tensor1D | undefined
  /** Added to the mean of squares. Default 0. */
  epsilon?: number
  /** Whether the mean of a row is taken off it before: a layer norm; without, an RMS norm. Default true. */
  centred?: boolean
}

/**
 * The norms of transformers: `weight d / sqrt(mean of d^2 + epsilon) + bias` of each row, `d = x - mean` or `x`.
 *
 * @param x - `[N, W]`
 * @param weight - `[W]`
 * @returns `[N, W]`
 * @throws {SHAPE_MISMATCH} when shapes do not fit together
 * @throws {BAD_OPTION} for a tensor that is not float32 or was disposed, or an option of the wrong type
 */
export function normalizeRows(
  x: tf.Tensor2D,
  weight: tf.Tensor1D,
  {bias, epsilon = 0, centred = true}: NormalizeRowsOptions = {},
): tf.Tensor2D {
  const inputs = {x, weight, bias}
  normalizeRowsSizes(inputs, {epsilon, centred})
  const [out] = fusedOrComposite('NormalizeRows', inputs, {epsilon, centred}, () => {
    const middle: tf.Tensor2D = centred ? tf.sub(x, rowMean(x)) : x
    const root = tf.sqrt(tf.add(rowMean(tf.square(middle)), epsilon))
    const scaled = tf.mul(tf.div(middle, root), weight)
    return [bias ? tf.add(scaled, bias) : scaled]
  })
  return out as tf.Tensor2D
}

function rowMean(x: tf.Tensor2D): tf.Tensor2D {
  return tf.mul(tf.sum(x, -1, true), 1 / x.shape[1])
}
