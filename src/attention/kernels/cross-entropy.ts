import {tf} from '../../tf.js'
import {hostData} from '../host-data.js'
import {checkLabels, crossEntropyGradientSizes, crossEntropySizes} from './checks.js'
import {fusedOrComposite, type Gradient} from './dispatch.js'

/**
 * Mean over tokens of the cross entropy between the softmax of their logits and one class each,
 * `log sum_c exp(x_c) - x_label`, in nats. No one-hot matrix is formed by a fused kernel.
 *
 * @param logits - `[N, V]`
 * @param labels - `[N]`, int32, each from 0 to V - 1
 * @returns a scalar
 * @throws {SHAPE_MISMATCH | BAD_OPTION} when logits and labels do not fit together
 * @throws {BAD_RANGE} unless labels are columns
 */
export function softmaxCrossEntropy(logits: tf.Tensor2D, labels: tf.Tensor1D): tf.Scalar {
  const inputs = {logits, labels}
  const {columns} = crossEntropySizes(inputs)
  checkLabels(hostData(() => ({labels})).labels, columns)
  const form = () => {
    const shifted = tf.sub(logits, tf.max(logits, 1, true)) as tf.Tensor2D
    const chosen = tf.sum(tf.mul(shifted, oneHot(labels, columns)), 1)
    return [tf.mean(tf.sub(tf.log(tf.sum(tf.exp(shifted), 1)), chosen))]
  }
  const [loss] = fusedOrComposite('SoftmaxCrossEntropy', inputs, {}, form, GRADIENT)
  return loss as tf.Scalar
}

const GRADIENT: Gradient = {
  inputsToSave: ['logits', 'labels'],
  gradFunc(dy, saved) {
    const [logits, labels] = saved as [tf.Tensor2D, tf.Tensor1D]
    return {logits: () => softmaxCrossEntropyGradient(logits, labels, dy as tf.Scalar)}
  },
}

/** Gradient of {@link softmaxCrossEntropy}: `slope (softmax(x) - [c = label]) / N`. @returns `[N, V]` */
function softmaxCrossEntropyGradient(
  logits: tf.Tensor2D,
  labels: tf.Tensor1D,
  slope: tf.Scalar,
): tf.Tensor2D {
  const inputs = {logits, labels, slope}
  const {rows, columns} = crossEntropyGradientSizes(inputs)
  const [out] = fusedOrComposite('SoftmaxCrossEntropyGradient', inputs, {}, () => {
    const differences = tf.sub(tf.softmax(logits), oneHot(labels, columns))
    return [tf.mul(differences, tf.div(slope, rows))]
  })
  return out as tf.Tensor2D
}

function oneHot(labels: tf.Tensor1D, columns: number): tf.Tensor2D {
  return tf.cast(tf.oneHot(labels, columns), 'float32') as tf.Tensor2D
}
