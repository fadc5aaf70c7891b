/** What the parts of the architectures have in common. */
import {type DenseActivation, dense} from '../attention/internal.js'
import {elementCount} from '../inputs/nd-array.js'
import {tf} from '../tf.js'
import {keyMaskOf, mergeHeads, splitHeads} from './operations.js'
import type {
  LayerAttention,
  ModelHead,
  ModelLayer,
  ModelShape,
  ModelSizes,
  TokenBatch,
} from './types.js'
import type {WeightSpec, WeightSpecs, Weights, WeightTensors} from './weights.js'

/** An architecture with the weights of a folder. */
export interface Parts {
  /** Every array that it needs. */
  specs: WeightSpecs[]
  sizes: ModelSizes
  /** Embeddings of a batch, `[B, L, W]`. */
  embed(batch: TokenBatch): Promise<tf.Tensor3D>
  layer(index: number): Promise<ModelLayer>
  /** Causal models only. */
  head?(): Promise<ModelHead>
}

/** What a model takes. @param inner - entries of a token between the matrices of the feed-forward part */
export function sizesOf(layer: WeightSpecs, head: WeightSpecs, inner: number): ModelSizes {
  return {layer: numbersIn(layer), head: numbersIn(head), inner}
}

function numbersIn(specs: WeightSpecs): number {
  return Object.values(specs).reduce((sum, spec) => sum + (spec ? elementCount(spec.shape) : 0), 0)
}

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
  {facts}: {facts: ModelShape},
  layer: number,
  batch: TokenBatch,
  {query, key, value}: Record<'query' | 'key' | 'value', () => tf.Tensor2D>,
  attention: LayerAttention,
  place: (x: tf.Tensor4D) => tf.Tensor4D = x => x,
): tf.Tensor2D {
  const {heads, keyHeads, causal, scale} = facts
  const keyMask = keyMaskOf(batch)
  // rows are gone as soon as their heads are apart: the next ones take their memory
  const queries = tf.tidy(() => place(splitHeads(query(), batch, heads)))
  const keys = tf.tidy(() => place(splitHeads(key(), batch, keyHeads)))
  const values = tf.tidy(() => splitHeads(value(), batch, keyHeads))
  return tf.tidy(() => {
    const context = {layer, causal, scale, ...(keyMask && {keyMask})}
    const out = mergeHeads(attention(queries, keys, values, context))
    tf.dispose([queries, keys, values])
    return out
  })
}

/** Rows of a table of embeddings, `[B, L, W]`, summed with others that depend on the position, if any. */
export async function lookUp(
  weights: Weights,
  table: WeightSpec<[number, number]>,
  {ids, batch, length, offset = 0}: TokenBatch,
  byPosition?: Float32Array,
): Promise<tf.Tensor3D> {
  const rows = await weights.readRows(table, ids)
  const width = table.shape[1]
  // positions begin anew with each text
  const text = length * width
  const places = byPosition?.subarray(offset * width)
  if (places) for (let i = 0; i < rows.length; i++) rows[i]! += places[i % text]!
  return tf.tensor3d(rows, [batch, length, width])
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
