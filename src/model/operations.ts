/** What the layers of transformers are made of, in TensorFlow.js operations. */
import {softmaxAttention} from '../attention/index.js'
import {tf} from '../tf.js'
import type {LayerAttention, TokenBatch} from './types.js'

/** Activations by the names of Transformers. */
export const ACTIVATION_NAMES = [
  'gelu',
  'gelu_new',
  'gelu_pytorch_tanh',
  'silu',
  'swish',
  'relu',
] as const
export type ActivationName = (typeof ACTIVATION_NAMES)[number]

const ACTIVATIONS: Readonly<Record<ActivationName, (x: tf.Tensor2D) => tf.Tensor2D>> = {
  gelu,
  gelu_new: geluTanh,
  gelu_pytorch_tanh: geluTanh,
  silu,
  swish: silu,
  relu: tf.relu,
}

/** `x Phi(x)`, with the normal distribution function. */
function gelu(x: tf.Tensor2D): tf.Tensor2D {
  return tf.mul(tf.mul(x, 0.5), tf.add(tf.erf(tf.mul(x, Math.SQRT1_2)), 1))
}

/** Its approximation `x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2`. */
function geluTanh(x: tf.Tensor2D): tf.Tensor2D {
  const inner = tf.mul(x, tf.add(tf.mul(tf.square(x), 0.044715), 1))
  const tanh = tf.tanh(tf.mul(inner, Math.sqrt(2 / Math.PI)))
  return tf.mul(tf.mul(x, 0.5), tf.add(tanh, 1))
}

/** `x / (1 + e^(-x))`. */
function silu(x: tf.Tensor2D): tf.Tensor2D {
  return tf.div(x, tf.add(tf.exp(tf.neg(x)), 1))
}

/** A matrix with a bias or none. */
export interface Linear {
  /** `[out, in]`, or `[in, out]` where `stored` says so. */
  weight: tf.Tensor2D
  bias?: tf.Tensor1D | undefined
  stored?: 'in-out'
}

/** `activation(x W + b)`. @param x - `[N, in]` @returns `[N, out]` */
export function dense(x: tf.Tensor2D, linear: Linear, activation?: ActivationName): tf.Tensor2D {
  const {weight, bias, stored} = linear
  const transposeB = stored !== 'in-out'
  const product = tf.fused.matMul({a: x, b: weight, transposeB, ...(bias && {bias})}) as tf.Tensor2D
  return activation ? ACTIVATIONS[activation](product) : product
}

/** Scale and shift of a norm. */
export interface Norm {
  weight: tf.Tensor1D
  bias: tf.Tensor1D
}

/** `weight (x - mean) / sqrt(variance + epsilon) + bias` of each row. @param x - `[N, W]` */
export function layerNorm(x: tf.Tensor2D, {weight, bias}: Norm, epsilon: number): tf.Tensor2D {
  const centred: tf.Tensor2D = tf.sub(x, rowMean(x))
  return tf.add(tf.mul(tf.div(centred, rootMeanSquare(centred, epsilon)), weight), bias)
}

/** `weight x / sqrt(mean of squares + epsilon)` of each row. @param x - `[N, W]` */
export function rmsNorm(x: tf.Tensor2D, weight: tf.Tensor1D, epsilon: number): tf.Tensor2D {
  return tf.mul(tf.div(x, rootMeanSquare(x, epsilon)), weight)
}

function rowMean(x: tf.Tensor2D): tf.Tensor2D {
  return tf.mul(tf.sum(x, -1, true), 1 / x.shape[1])
}

function rootMeanSquare(x: tf.Tensor2D, epsilon: number): tf.Tensor2D {
  return tf.sqrt(tf.add(rowMean(tf.square(x)), epsilon))
}

/** `[B L, H D]` as `[B, H, L, D]`. */
export function splitHeads(
  x: tf.Tensor2D,
  {batch, length}: TokenBatch,
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

/**
 * Keys or values with a copy for each head of queries: head j becomes heads `j G .. j G + G - 1`.
 *
 * @param x - `[B, Hkv, L, D]`
 * @param heads - H, a multiple of Hkv
 * @returns `[B, H, L, D]`; `x` itself where it has as many heads
 */
export function repeatHeads(x: tf.Tensor4D, heads: number): tf.Tensor4D {
  const [batch, own, length, headDim] = x.shape
  if (own === heads) return x
  const matrices: tf.Tensor2D = tf.reshape(x, [batch * own, length * headDim])
  const copies = Array.from({length: heads / own}, () => matrices)
  return tf.reshape(tf.concat(copies, 1), [batch, heads, length, headDim])
}

/** The model's own attention: softmax, in exact form. */
export const exactLayerAttention: LayerAttention = (query, key, value, context) => {
  const {causal, scale, keyMask} = context
  const repeated = [key, value].map(tensor => repeatHeads(tensor, query.shape[1]))
  return softmaxAttention(query, repeated[0]!, repeated[1]!, {causal, scale, keyMask}).out
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
