import {tf} from '../../tf.js'
import type {KeyMask} from '../types.js'
import {
  type Inputs,
  SOFTMAX_GRADIENTS,
  type SoftmaxAttributes,
  softmaxAttentionGradientSizes,
} from './checks.js'
import {fusedOrComposite} from './dispatch.js'
import {causalMask, finiteLogSums, headMask, maskLogits} from './masking.js'
import {matMul} from './mat-mul.js'

/** Queries that form their logits at a time. */
export const QUERY_TILE = 512

interface SoftmaxOutputs {
  out: tf.Tensor // [B, H, L, Dv]
  lse: tf.Tensor // [B, H, L]
  slopes: tf.Tensor
  lseSlopes: tf.Tensor
}

/**
 * Gradients of `softmaxAttention` by each of its inputs that is there, from the log-sums of the forward pass, tile by
 * tile: `p_ij = exp(scale q_i.k_j + bias_j - lse_i)`, which forms no maximum again, and
 * `ds_ij = p_ij (do_i.v_j - do_i.o_i + dlse_i)`. Rows that see no key give none.
 *
 * @param inputs - of the operation by name
 * @returns by name, each as its input
 *
 * Source: Dao et al. 2022, arXiv:2205.14135, algorithm 4.
 */
export function softmaxAttentionGradient(
  inputs: Inputs<tf.Tensor>,
  outputs: SoftmaxOutputs,
  attributes: SoftmaxAttributes,
): Record<string, tf.Tensor> {
  const all = {...inputs, ...outputs}
  softmaxAttentionGradientSizes(all, attributes)
  const names = SOFTMAX_GRADIENTS.filter(name => inputs[name])
  const made = fusedOrComposite('SoftmaxAttentionGradient', all, attributes, () => {
    const slopes = composite(inputs, outputs, attributes)
    return names.map(name => slopes[name])
  })
  return Object.fromEntries(names.map((name, at) => [name, sumShared(made[at]!, inputs[name]!)]))
}

/** The tensors with shared leading axes repeated. */
export function unshared(tensors: tf.Tensor4D[]): tf.Tensor4D[] {
  const batch = Math.max(...tensors.map(({shape}) => shape[0]))
  const heads = Math.max(...tensors.map(({shape}) => shape[1]))
  return tensors.map(tensor => {
    const times = [batch / tensor.shape[0], heads / tensor.shape[1], 1, 1]
    return times.every(n => n === 1) ? tensor : tf.tile(tensor, times)
  })
}

/** A gradient summed over the axes that its input shares. */
function sumShared(slope: tf.Tensor, {shape}: tf.Tensor): tf.Tensor {
  const axes = [0, 1].filter(axis => slope.shape[axis] !== shape[axis])
  return axes.length === 0 ? slope : tf.sum(slope, axes, true)
}

function composite(
  inputs: Inputs<tf.Tensor>,
  outputs: SoftmaxOutputs,
  {scale, causal}: SoftmaxAttributes,
): Record<(typeof SOFTMAX_GRADIENTS)[number], tf.Tensor> {
  const sides = unshared(['query', 'key', 'value'].map(name => inputs[name] as tf.Tensor4D))
  const [batch, heads, queryLen] = sides[0]!.shape
  const keyLen = sides[1]!.shape[2]
  const rows = batch * heads
  const flat = (tensor: tf.Tensor, columns: number): tf.Tensor3D =>
    tf.reshape(tensor, [rows, -1, columns])
  const [query, key, value] = sides.map(side => flat(side, side.shape[3])) as Three
  const [slopes, out] = [outputs.slopes, outputs.out].map(x => flat(x, x.shape[3]!)) as Three
  const lse = flat(finiteLogSums(outputs.lse), 1)
  const offsets = tf.sub(tf.sum(tf.mul(slopes, out), -1, true), flat(outputs.lseSlopes, 1))
  const bias = inputs.keyBias && flat(inputs.keyBias, keyLen)
  const mask = inputs.keyMask && headMask(inputs.keyMask as KeyMask, heads)
  const tiles: tf.Tensor3D[] = []
  let [toKey, toValue, toBias]: tf.Tensor[] = [
    tf.zerosLike(key),
    tf.zerosLike(value),
    tf.zeros([rows, 1, keyLen]),
  ]
  for (let start = 0; start < queryLen; start += QUERY_TILE) {
    const length = Math.min(QUERY_TILE, queryLen - start)
    const cut = (x: tf.Tensor3D) => tf.slice(x, [0, start, 0], [rows, length, x.shape[2]])
    const [q, o] = [cut(query), cut(slopes)]
    let logits = tf.mul(matMul(q, key, false, true), scale) as tf.Tensor3D
    if (bias) logits = tf.add(logits, bias)
    if (mask) logits = maskLogits(logits, mask)
    if (causal) logits = maskLogits(logits, causalMask(length, keyLen, start))
    const weights = tf.exp(tf.sub(logits, cut(lse))) as tf.Tensor3D
    const rise = tf.sub(matMul(o, value, false, true), cut(offsets as tf.Tensor3D))
    const steep = tf.mul(weights, rise) as tf.Tensor3D
    tiles.push(tf.mul(matMul(steep, key), scale))
    toKey = tf.add(toKey!, tf.mul(matMul(steep, q, true), scale))
    toValue = tf.add(toValue!, matMul(weights, o, true))
    toBias = tf.add(toBias!, tf.sum(steep, 1, true))
  }
  const whole = (tensor: tf.Tensor, ...last: number[]) =>
    tf.reshape(tensor, [batch, heads, ...last])
  return {
    query: whole(tiles.length === 1 ? tiles[0]! : tf.concat(tiles, 1), queryLen, query.shape[2]),
    key: whole(toKey!, keyLen, key.shape[2]),
    value: whole(toValue!, keyLen, value.shape[2]),
    keyBias: whole(toBias!, keyLen),
  }
}

type Three = [tf.Tensor3D, tf.Tensor3D, tf.Tensor3D]
