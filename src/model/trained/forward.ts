/** Forward pass of a small transformer, of fused operations with gradients. */
import {dense, normalizeRows} from '../../attention/internal.js'
import {tf} from '../../tf.js'
import {mergeHeads, splitHeads} from '../operations.js'
import type {SmallModel} from './sizes.js'

export type WeightOf = (name: string) => tf.Tensor

export type CausalAttention = (tokens: {
  /** `[B, H, L, D]` */
  query: tf.Tensor4D
  key: tf.Tensor4D
  /** `[B, H, L, Dv]` */
  value: tf.Tensor4D
  /** Forget gates `[B, H, L]`, where the model learns them. */
  gate: tf.Tensor3D | undefined
  layer: number
}) => tf.Tensor4D

/** What a forward pass takes in addition to the weights. */
export interface ForwardInputs {
  /** `[B, L]`, int32 */
  tokens: tf.Tensor2D
  attend: CausalAttention
}

/**
 * Hidden states before the head, `[B L, W]`: embeddings; a gated convolution; layers of attention, each with a feed-forward part
 * (ReLU). Every part reads normalised hidden states and adds to them.
 */
export function hiddenStates(
  model: SmallModel,
  weight: WeightOf,
  {tokens, attend}: ForwardInputs,
): tf.Tensor2D {
  const {layers, mlp, convolution} = model
  const [batch, length] = tokens.shape
  let x = embedded(model, weight, tokens)
  if (convolution > 0) x = tf.add(x, gatedConvolution(weight, x, [batch, length]))
  for (let layer = 0; layer < layers; layer++) {
    x = tf.add(x, attended(model, weight, {x, batch, length, layer, attend}))
    if (mlp === 0) continue
    const hidden = linear(weight, `${layer}.up`, norm(weight, `${layer}.mlp_norm`, x), 'relu')
    x = tf.add(x, linear(weight, `${layer}.down`, hidden))
  }
  return x
}

/** Logits of the tokens that follow, `[N, V]`. @param hidden - rows of {@link hiddenStates}, `[N, W]` */
export function tokenLogits(weight: WeightOf, hidden: tf.Tensor2D): tf.Tensor2D {
  return linear(weight, 'head', norm(weight, 'norm', hidden))
}

function embedded({positions, width}: SmallModel, weight: WeightOf, tokens: tf.Tensor2D) {
  const [batch, length] = tokens.shape
  const rows: tf.Tensor2D = tf.gather(weight('embedding') as tf.Tensor2D, tf.reshape(tokens, [-1]))
  if (!positions) return rows
  const places = tf.slice(weight('positions') as tf.Tensor2D, [0, 0], [length, width])
  const placed = tf.add(tf.reshape(rows, [batch, length, width]), places)
  return tf.reshape(placed, [batch * length, width]) as tf.Tensor2D
}

/**
 * `(x W + b) * conv(x)`, x normalised: a convolution of each entry over the last few tokens, with a gate.
 *
 * Source: `BaseConv` of Arora et al. 2023, arXiv:2312.04927, with the short filters of arXiv:2402.18668.
 */
function gatedConvolution(
  weight: WeightOf,
  x: tf.Tensor2D,
  [batch, length]: [number, number],
): tf.Tensor2D {
  const own = norm(weight, 'convolution.norm', x)
  const filter = weight('convolution.filter.weight') as tf.Tensor2D
  const [taps, width] = filter.shape
  const padded = tf.concat(
    [tf.zeros([batch, taps - 1, width]), tf.reshape(own, [batch, length, width])],
    1,
  )
  const bias: tf.Tensor = weight('convolution.filter.bias')
  const convolved = tf.unstack(filter).reduce((sum, tap, at) => {
    const shifted = tf.slice(padded, [0, taps - 1 - at, 0], [batch, length, width])
    return tf.add(sum, tf.mul(shifted, tap))
  }, bias)
  return tf.mul(
    linear(weight, 'convolution.gate', own),
    tf.reshape(convolved, [batch * length, width]) as tf.Tensor2D,
  )
}

interface LayerInputs {
  /** `[B L, W]` */
  x: tf.Tensor2D
  batch: number
  length: number
  layer: number
  attend: CausalAttention
}

function attended(
  {width, heads, headDim, gated}: SmallModel,
  weight: WeightOf,
  {x, batch, length, layer, attend}: LayerInputs,
): tf.Tensor2D {
  const own = norm(weight, `${layer}.norm`, x)
  const qkv = linear(weight, `${layer}.qkv`, own)
  const parts = tf.split(qkv, [heads * headDim, heads * headDim, width], 1)
  const [query, key, value] = parts.map(part =>
    splitHeads(part as tf.Tensor2D, {batch, length}, heads),
  )
  const gate = gated ? gatesOf(linear(weight, `${layer}.gate`, own), batch) : undefined
  const out = attend({query: query!, key: key!, value: value!, gate, layer})
  return linear(weight, `${layer}.out`, mergeHeads(out))
}

/** `[B L, H]` logits as gates `[B, H, L]`. */
function gatesOf(logits: tf.Tensor2D, batch: number): tf.Tensor3D {
  const [rows, heads] = logits.shape
  return tf.transpose(tf.reshape(tf.sigmoid(logits), [batch, rows / batch, heads]), [0, 2, 1])
}

/** Added to the mean of squares by norms. */
const EPSILON = 1e-5

function norm(weight: WeightOf, name: string, x: tf.Tensor2D): tf.Tensor2D {
  const bias = weight(`${name}.bias`) as tf.Tensor1D
  return normalizeRows(x, weight(`${name}.weight`) as tf.Tensor1D, {bias, epsilon: EPSILON})
}

function linear(
  weight: WeightOf,
  name: string,
  x: tf.Tensor2D,
  activation: 'linear' | 'relu' = 'linear',
): tf.Tensor2D {
  const bias = weight(`${name}.bias`) as tf.Tensor1D
  return dense(x, weight(`${name}.weight`) as tf.Tensor2D, {bias, activation})
}
