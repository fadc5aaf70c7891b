/** What the parts of the architectures have in common. */
import {type DenseActivation, dense} from '../attention/internal.js'
import {tf} from '../tf.js'
import type {ModelConfig} from './config.js'
import {keyMaskOf, mergeHeads, splitHeads} from './operations.js'
import type {LayerAttention, ModelHead, ModelLayer, TokenBatch} from './types.js'
import type {WeightSpecs, Weights, WeightTensors} from './weights.js'

/** An architecture with the weights of a folder. */
export interface Parts {
  /** Every array that it needs. */
  specs: WeightSpecs[]
  /** Embeddings of a batch, `[B, L, W]`. */
  embed(batch: TokenBatch): Promise<tf.Tensor3D>
  layer(index: number): Promise<ModelLayer>
  /** Causal models only. */
  head?(): Promise<ModelHead>
}

/** A layer of weights that were read. */
export async function readLayer<Specs extends WeightSpecs>(
  weights: Weights,
  specs: Specs,
  forward: (
    weights: WeightTensors<Specs>,
    hidden: tf.Tensor3D,
    batch: TokenBatch,
    attention: LayerAttention,
  ) => tf.Tensor3D,
  project: (weights: WeightTensors<Specs>, rows: tf.Tensor2D) => tf.Tensor2D,
): Promise<ModelLayer> {
  const tensors = await weights.read(specs)
  return {
    forward: (hidden, batch, attention) =>
      tf.tidy(() => forward(tensors, hidden, batch, attention)),
    project: attended =>
      tf.tidy(() => {
        const [batch, , length] = attended.shape
        return tf.reshape(project(tensors, mergeHeads(attended)), [batch, length, -1])
      }),
    dispose: () => tf.dispose(tensors),
  }
}

/** A head of weights that were read. */
export async function readHead<Specs extends WeightSpecs>(
  weights: Weights,
  specs: Specs,
  logits: (weights: WeightTensors<Specs>, hidden: tf.Tensor3D) => tf.Tensor2D,
): Promise<ModelHead> {
  const tensors = await weights.read(specs)
  return {
    logits: hidden =>
      tf.tidy(() => {
        const [batch, length] = hidden.shape
        return tf.reshape(logits(tensors, hidden), [batch, length, -1])
      }),
    dispose: () => tf.dispose(tensors),
  }
}

/** Runs an attention over rows of queries, keys and values, `[B L, H D]` or `[B L, Hkv D]`, heads side by side. */
export function attendRows(
  {facts}: ModelConfig,
  layer: number,
  batch: TokenBatch,
  {query, key, value}: Record<'query' | 'key' | 'value', tf.Tensor2D>,
  attention: LayerAttention,
  place: (x: tf.Tensor4D) => tf.Tensor4D = x => x,
): tf.Tensor2D {
  const {heads, keyHeads, causal, scale} = facts
  const keyMask = keyMaskOf(batch)
  const out = attention(
    place(splitHeads(query, batch, heads)),
    place(splitHeads(key, batch, keyHeads)),
    splitHeads(value, batch, keyHeads),
    {layer, causal, scale, ...(keyMask && {keyMask})},
  )
  return mergeHeads(out)
}

/** Rows of a table of embeddings, `[B, L, W]`, summed with others that depend on the position, if any. */
export function lookUp(
  table: Float32Array,
  {ids, batch, length}: TokenBatch,
  width: number,
  byPosition?: Float32Array,
): tf.Tensor3D {
  const out = new Float32Array(ids.length * width)
  for (let token = 0; token < ids.length; token++) {
    const from = ids[token]! * width
    const place = (token % length) * width
    const to = token * width
    for (let i = 0; i < width; i++) {
      out[to + i] = table[from + i]! + (byPosition?.[place + i] ?? 0)
    }
  }
  return tf.tensor3d(out, [batch, length, width])
}

/** `activation(x W + b)` of a matrix that is stored as `[out, in]`. @param x - `[N, in]` */
export function linear(
  x: tf.Tensor2D,
  weight: tf.Tensor2D,
  bias?: tf.Tensor1D,
  activation?: DenseActivation,
): tf.Tensor2D {
  return dense(x, weight, {bias, transposed: true, ...(activation && {activation})})
}
