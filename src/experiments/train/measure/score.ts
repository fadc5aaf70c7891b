/** Sequences as tensors, and how well a model predicts their labels. */
import {tf} from '../../../attention/index.js'
import {hostData, softmaxCrossEntropy} from '../../../attention/internal.js'
import {
  type CausalAttention,
  hiddenStates,
  type SmallModel,
  tokenLogits,
  type WeightOf,
} from '../../../model/trained/index.js'
import {finiteOrNull} from '../../../stats/index.js'
import {type Examples, NO_LABEL} from '../../../tasks/index.js'
import type {Score} from '../schema.js'

export interface Learner {
  model: SmallModel
  weight: WeightOf
  attend: CausalAttention
}

function labelledLogits(
  {model, weight, attend}: Learner,
  {count, length, tokens, labels}: Examples,
): {logits: tf.Tensor2D; labels: tf.Tensor1D} {
  const hidden = hiddenStates(model, weight, {
    tokens: tf.tensor2d(tokens, [count, length], 'int32'),
    attend,
  })
  const wanted = labels.filter(label => label !== NO_LABEL)
  const places = Int32Array.from(labels.keys()).filter(at => labels[at] !== NO_LABEL)
  const all = wanted.length === labels.length
  const rows: tf.Tensor2D = all ? hidden : tf.gather(hidden, tf.tensor1d(places, 'int32'))
  return {logits: tokenLogits(weight, rows), labels: tf.tensor1d(wanted, 'int32')}
}

/** Mean cross entropy of the labels, in nats. */
export function lossOf(learner: Learner, examples: Examples): tf.Scalar {
  const {logits, labels} = labelledLogits(learner, examples)
  return softmaxCrossEntropy(logits, labels)
}

/** @param batch - sequences at once */
export function scoreOf(learner: Learner, examples: Examples, batch: number): Score {
  let [right, nats, total] = [0, 0, 0]
  for (let first = 0; first < examples.count; first += batch) {
    const own = someExamples(examples, first, batch)
    const {best, loss, labels} = hostData(() => {
      const {logits, labels} = labelledLogits(learner, own)
      return {best: tf.argMax(logits, 1), loss: softmaxCrossEntropy(logits, labels), labels}
    })
    best.forEach((token, at) => {
      if (token === labels[at]) right++
    })
    nats += loss[0]! * labels.length
    total += labels.length
  }
  const finite = Number.isFinite(nats)
  return {accuracy: finite ? right / total : null, bits: finiteOrNull(nats / total / Math.LN2)}
}

export function someExamples(examples: Examples, first: number, most: number): Examples {
  const {length} = examples
  const count = Math.min(most, examples.count - first)
  const part = (values: Int32Array) => values.subarray(first * length, (first + count) * length)
  return {count, length, tokens: part(examples.tokens), labels: part(examples.labels)}
}
