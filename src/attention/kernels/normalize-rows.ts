import {tf} from '../../tf.js'
import {
  type NormalizeRowsAttributes,
  normalizeRowsGradientSizes,
  normalizeRowsSizes,
} from './checks.js'
import {fusedOrComposite, type Gradient} from './dispatch.js'

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
  const form = () => {
    const scaled = tf.mul(unitRows(x, {epsilon, centred}).rows, weight)
    return [bias ? tf.add(scaled, bias) : scaled]
  }
  const [out] = fusedOrComposite('NormalizeRows', inputs, {epsilon, centred}, form, GRADIENT)
  return out as tf.Tensor2D
}

const GRADIENT: Gradient<NormalizeRowsAttributes> = {
  inputsToSave: ['x', 'weight'],
  gradFunc(dy, saved, norm) {
    const [x, weight] = saved as [tf.Tensor2D, tf.Tensor1D]
    const [toX, toWeight, toBias] = normalizeRowsGradient(x, weight, dy as tf.Tensor2D, norm)
    return {x: () => toX!, weight: () => toWeight!, bias: () => toBias!}
  },
}

/**
 * Gradients of {@link normalizeRows}. With unit rows `n = d / r` and `g = slopes weight`:
 * `(g - mean(g) - n mean(g n)) / r` for x, the mean of g only where rows are centred; sums of `slopes n` and of `slopes`
 * over rows for weight and bias.
 *
 * @param slopes - of the output, `[N, W]`
 * @returns `[N, W]`, `[W]` and `[W]`
 */
function normalizeRowsGradient(
  x: tf.Tensor2D,
  weight: tf.Tensor1D,
  slopes: tf.Tensor2D,
  {epsilon, centred}: NormalizeRowsAttributes,
): tf.Tensor[] {
  const inputs = {x, weight, slopes}
  normalizeRowsGradientSizes(inputs, {epsilon, centred})
  return fusedOrComposite('NormalizeRowsGradient', inputs, {epsilon, centred}, () => {
    const {rows, root} = unitRows(x, {epsilon, centred})
    const weighted: tf.Tensor2D = tf.mul(slopes, weight)
    const middle = centred ? tf.sub(weighted, rowMean(weighted)) : weighted
    const along = tf.mul(rows, rowMean(tf.mul(weighted, rows)))
    return [tf.div(tf.sub(middle, along), root), tf.sum(tf.mul(slopes, rows), 0), tf.sum(slopes, 0)]
  })
}

/** Rows of mean square 1, but for epsilon, and what they were divided by. */
function unitRows(x: tf.Tensor2D, {epsilon, centred}: NormalizeRowsAttributes) {
  const middle: tf.Tensor2D = centred ? tf.sub(x, rowMean(x)) : x
  const root: tf.Tensor2D = tf.sqrt(tf.add(rowMean(tf.square(middle)), epsilon))
  return {rows: tf.div(middle, root) as tf.Tensor2D, root}
}

function rowMean(x: tf.Tensor2D): tf.Tensor2D {
  return tf.mul(tf.sum(x, -1, true), 1 / x.shape[1])
}
