/** What the layers of transformers are made of, in TensorFlow.js operations. */
import {softmaxAttention} from '../attention/index.js'
import type {DenseActivation} from '../attention/internal.js'
import {tf} from '../tf.js'
import type {LayerAttention, TokenBatch} from './types.js'

/** Activations by the names of Transformers. */
const ACTIVATIONS = {
  gelu: 'gelu',
  gelu_new: 'gelu-tanh',
  gelu_pytorch_tanh: 'gelu-tanh',
  silu: 'silu',
  swish: 'silu',
  relu: 'relu',
} as const satisfies Record<string, DenseActivation>
type ActivationName = keyof typeof ACTIVATIONS

/** The names that a configuration may give. */
export const ACTIVATION_NAMES = Object.keys(ACTIVATIONS) as readonly ActivationName[]

/** The activation of that name, where it is known. */
export function activationNamed(name: string): DenseActivation | undefined {
  const known = ACTIVATION_NAMES.find(candidate => candidate === name)
  return known && ACTIVATIONS[known]
}

/** `[B L, H D]` as `[B, H, L, D]`. */
export function splitHeads(
  x: tf.Tensor2D,
  {batch, length}: Pick<TokenBatch, 'batch' | 'length'>,
  heads: number,
): tf.Tensor4D {
  return tf.transpose(tf.reshape(x, [batch, length, heads, -1]), [0, 2, 1, 3])
}

/** `[B, H, L, D]` as `[B L, H D]`. */
export function mergeHeads(x: tf.Tensor4D): tf.Tensor2D {
  const [batch, heads, length, headDim] = x.shape
  return tf.reshape(tf.transpose(x, [0, 2, 1, 3]), [batch * length, heads * headDim])
}

/** `[B, L, W]` as `[B L, W]`. */
export function toRows(hidden: tf.Tensor3D): tf.Tensor2D {
  return tf.reshape(hidden, [-1, hidden.shape[2]])
}

/** The model's own attention: softmax, in exact form. Heads of queries share those of keys: no copy is made. */
export const exactLayerAttention: LayerAttention = (query, key, value, context) => {
  const {causal, scale, keyMask} = context
  const [batch, heads, length, headDim] = query.shape
  const keyHeads = key.shape[1]
  if (heads === keyHeads) return softmaxAttention(query, key, value, {causal, scale, keyMask}).out
  const groups = batch * keyHeads
  const grouped = [query, key, value].map(x => tf.reshape(x, [groups, -1, length, headDim]))
  const mask =
    keyMask && tf.reshape(tf.tile(tf.expandDims(keyMask, 1), [1, keyHeads, 1]), [groups, length])
  const options = {causal, scale, keyMask: mask}
  const {out} = softmaxAttention(grouped[0]!, grouped[1]!, grouped[2]!, options)
  return tf.reshape(out, query.shape)
}

/** Which keys are tokens of their texts, `[B, L]`; `undefined` where all are. */
export function keyMaskOf({batch, length, lengths}: TokenBatch): tf.Tensor2D | undefined {
  if (lengths.every(tokens => tokens === length)) return undefined
  const mask = new Uint8Array(batch * length)
  lengths.forEach((tokens, row) => {
    mask.fill(1, row * length, row * length + tokens)
  })
  return tf.tensor2d(mask, [batch, length], 'bool')
}
