/**
 * What is done to landmark means: learned maps (linear, then layer normalisation, each where its arrays are
 * given), and attention among themselves.
 */
import {tf} from '../../tf.js'
import {maskLogits, matMul} from '../kernels/index.js'
import type {Parameters} from '../types.js'

const NORM_EPSILON = 1e-5

/**
 * Names and shapes of the arrays: of either side `Weight` `[D, D]` (a row per output), `Bias`, `NormWeight`
 * and `NormBias` `[D]`.
 */
export function landmarkParameters({headDim}: {headDim: number}): Record<string, number[]> {
  return Object.fromEntries(
    (['query', 'key'] as const).flatMap(side => [
      [`${side}Weight`, [headDim, headDim]],
      [`${side}Bias`, [headDim]],
      [`${side}NormWeight`, [headDim]],
      [`${side}NormBias`, [headDim]],
    ]),
  )
}

/**
 * `layerNorm(x W^T + b) g + h` with the arrays of one side; what is not given is left out.
 *
 * @param x - `[B, H, n, D]`
 */
export function mapLandmarks(
  x: tf.Tensor4D,
  side: 'query' | 'key',
  parameters: Parameters,
): tf.Tensor4D {
  const array = (name: string) => parameters[`${side}${name}`]
  const [batch, heads, count, headDim] = x.shape
  let rows: tf.Tensor = tf.reshape(x, [1, batch * heads * count, headDim])
  const weight = array('Weight')
  if (weight) {
    const matrix = tf.reshape(weight, [1, headDim, headDim]) as tf.Tensor3D
    rows = matMul(rows as tf.Tensor3D, matrix, false, true)
  }
  const bias = array('Bias')
  if (bias) rows = tf.add(rows, bias)
  const gain = array('NormWeight')
  const shift = array('NormBias')
  if (gain || shift) rows = normalized(rows)
  if (gain) rows = tf.mul(rows, gain)
  if (shift) rows = tf.add(rows, shift)
  return tf.reshape(rows, x.shape)
}

/** Mean 0 and variance 1 over the last axis. */
function normalized(rows: tf.Tensor): tf.Tensor {
  const centred = tf.sub(rows, tf.mean(rows, -1, true))
  const variance = tf.mean(tf.square(centred), -1, true)
  return tf.div(centred, tf.sqrt(tf.add(variance, NORM_EPSILON)))
}

/** Added to |v| before its logarithm is taken. */
const VALUE_EPSILON = 1e-4

/**
 * Landmark keys as attention among themselves: each becomes the softmax mean of all.
 *
 * @param keys - `[B, H, C, D]`
 * @param scale - multiplies inner products
 * @param values - `[B, H, C, Dv]`; where given, log(|v| + 1e-4) is added to the logits of each landmark
 * @param present - `[B, C]`
 */
export function mixLandmarks(
  keys: tf.Tensor4D,
  scale: number,
  values: tf.Tensor4D | undefined,
  present: tf.Tensor2D | undefined,
): tf.Tensor4D {
  const [batch, heads, count, headDim] = keys.shape
  const flat: tf.Tensor3D = tf.reshape(keys, [batch * heads, count, headDim])
  let logits: tf.Tensor = tf.reshape(matMul(tf.mul(flat, scale), flat, false, true), [
    batch,
    heads,
    count,
    count,
  ])
  if (values) {
    const length = tf.sqrt(tf.sum(tf.square(values), -1)) // [B, H, C]
    const bias = tf.log(tf.add(length, VALUE_EPSILON))
    logits = tf.add(logits, tf.reshape(bias, [batch, heads, 1, count]))
  }
  if (present) logits = maskLogits(logits, tf.reshape(present, [batch, 1, 1, count]))
  const weights: tf.Tensor3D = tf.reshape(tf.softmax(logits), [batch * heads, count, count])
  return tf.reshape(matMul(weights, flat), [batch, heads, count, headDim])
}
