/** Learned maps of landmark means: linear, then layer normalisation, each where its arrays are given. */
import * as tf from '@tensorflow/tfjs-core'
import {matMul} from './kernels/index.js'
import type {Parameters} from './types.js'

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
