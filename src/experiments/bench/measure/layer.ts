/** A transformer layer around attention: the products that attention never comes without. */
import {randomStream} from '../../../random/index.js'
import {tf} from '../../../tf.js'
import {EXPANSION, type LayerCell} from '../cost/layer-costs.js'
import {keyHeads} from '../fields/grouped.js'

/** Tokens and weights, drawn once. */
export interface Layer {
  tokens: tf.Tensor2D // [B L, d], d = H D
  query: tf.Tensor2D // [d, H D]
  key: tf.Tensor2D // [d, Hkv D]
  value: tf.Tensor2D // [d, Hkv Dv]
  out: tf.Tensor2D // [H Dv, d]
  expand: tf.Tensor2D // [d, 4 d]
  contract: tf.Tensor2D // [4 d, d]
}

/** What stands at the place of attention: `[B, H, L, D]`, `[B, Hkv, L, D]` and `[B, Hkv, L, Dv]` to `[B, H, L, Dv]`. */
export type Attention = (query: tf.Tensor4D, key: tf.Tensor4D, value: tf.Tensor4D) => tf.Tensor4D

/** Tokens N(0, 1), and weights of such a size that what they make of them is about as large. */
export function makeLayer(cell: LayerCell): Layer {
  const {batch, heads, seq_len, head_dim, value_dim, seed} = cell
  const width = heads * head_dim
  const own = keyHeads(cell)
  const draw = (name: string, rows: number, columns: number, scale: number) => {
    const values = new Float32Array(rows * columns)
    randomStream(seed, `bench.layer.${name}`).fillNormals(values)
    const scaled = values.map(value => scale * value)
    return tf.tensor2d(scaled, [rows, columns])
  }
  const weights = (name: string, rows: number, columns: number) =>
    draw(name, rows, columns, rows ** -0.5)
  return {
    tokens: draw('tokens', batch * seq_len, width, 1),
    query: weights('query', width, width),
    key: weights('key', width, own * head_dim),
    value: weights('value', width, own * value_dim),
    out: weights('out', heads * value_dim, width),
    expand: weights('expand', width, EXPANSION * width),
    contract: weights('contract', EXPANSION * width, width),
  }
}

/**
 * One forward, `relu(A Wo W1) W2` with A the attention of `x Wq`, `x Wk` and `x Wv`: its products, without cheap
 * parts (sums with the input, norms, biases).
 *
 * @returns `[B L, d]`
 */
export function layerForward(
  {tokens, query, key, value, out, expand, contract}: Layer,
  cell: LayerCell,
  attention: Attention,
): tf.Tensor2D {
  const {batch, heads, seq_len} = cell
  const own = keyHeads(cell)
  const split = (weights: tf.Tensor2D, heads: number): tf.Tensor4D => {
    const width = weights.shape[1] / heads
    const shape: [number, number, number, number] = [batch, seq_len, heads, width]
    const rows: tf.Tensor4D = tf.reshape(tf.matMul(tokens, weights), shape)
    return tf.transpose(rows, [0, 2, 1, 3])
  }
  const heard = attention(split(query, heads), split(key, own), split(value, own))
  const merged = tf.reshape(tf.transpose(heard, [0, 2, 1, 3]), [batch * seq_len, out.shape[0]])
  const hidden = tf.relu(tf.matMul(tf.matMul(merged, out), expand))
  return tf.matMul(hidden, contract)
}
