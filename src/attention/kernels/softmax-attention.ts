import {tf} from '../../tf.js'
import {checkObject} from '../check-tensor.js'
import type {KeyMask} from '../types.js'
import {type Inputs, type SoftmaxAttributes, softmaxAttentionSizes} from './checks.js'
import {fusedOrComposite, type Gradient} from './dispatch.js'
import {causalMask, headMask, MASKED, maskLogits, sawAnyKey} from './masking.js'
import {matMul} from './mat-mul.js'
import {QUERY_TILE, softmaxAttentionGradient, unshared} from './softmax-attention-gradient.js'

/** Options of {@link softmaxAttention}. */
export interface SoftmaxAttentionOptions {
  /** Multiplies each q.k. Default 1 (canonical inputs). */
  scale?: number
  /** Added to the logits of each key, `[B, H, S]`. Default none. */
  keyBias?: tf.Tensor | undefined
  /** Query i sees keys j <= i only. Default false. */
  causal?: boolean
  /** `[B, S]`, nonzero = present. Default: all present. */
  keyMask?: tf.Tensor | undefined
}

/** Result of {@link softmaxAttention}. */
export interface SoftmaxAttentionResult {
  /** `[B, H, L, Dv]`; zero for rows that see no key. */
  out: tf.Tensor4D
  /** Log-sum-exp of each row of logits, `[B, H, L]`; -Infinity for rows that see no key. */
  lse: tf.Tensor3D
}

// one tile of logits per head is at most QUERY_TILE x 1024: 2 MiB
const KEY_TILE = 1024

/**
 * Exact softmax attention without an L x S matrix: tiles of keys are folded into running maxima,
 * sums and outputs; tiles wholly above the diagonal are skipped.
 *
 * `out_i = sum_j p_ij v_j`, `p_i = softmax_j(scale q_i.k_j + keyBias_j)`, `lse_i = log sum_j exp(...)`.
 *
 * A leading axis of length 1 of query, key or value is shared by the others.
 *
 * @param query - `[B or 1, H or 1, L, D]`
 * @param key - `[B or 1, H or 1, S, D]`
 * @param value - `[B or 1, H or 1, S, Dv]`
 * @throws {SHAPE_MISMATCH} when shapes do not fit together, or an axis is empty
 * @throws {BAD_OPTION} for a tensor that is not float32 or was disposed, or an option of the wrong type
 *
 * Source: Milakov & Gimelshein 2018, arXiv:1805.02867 (online softmax); Rabe & Staats 2021,
 * arXiv:2112.05682 (tiles in both directions).
 */
export function softmaxAttention(
  query: tf.Tensor,
  key: tf.Tensor,
  value: tf.Tensor,
  options: SoftmaxAttentionOptions = {},
): SoftmaxAttentionResult {
  checkObject('SoftmaxAttention.options', options)
  const {scale = 1, keyBias, causal = false, keyMask} = options
  const inputs = {query, key, value, keyBias, keyMask}
  softmaxAttentionSizes(inputs, {scale, causal})
  const form = () => {
    const [first, second, third] = unshared([query, key, value] as tf.Tensor4D[])
    return composite(first!, second!, third!, {scale, keyBias, causal, keyMask})
  }
  const attributes = {scale, causal}
  const gradient = gradientOf(inputs)
  const [out, lse] = fusedOrComposite('SoftmaxAttention', inputs, attributes, form, gradient)
  return {out: out as tf.Tensor4D, lse: lse as tf.Tensor3D}
}

/** Of the inputs that are there. */
function gradientOf(inputs: Inputs<tf.Tensor>): Gradient<SoftmaxAttributes> {
  const names = Object.keys(inputs).filter(name => inputs[name])
  return {
    inputsToSave: names,
    outputsToSave: [true, true],
    gradFunc(dys, saved, attributes) {
      const given = Object.fromEntries(names.map((name, at) => [name, saved[at]]))
      const [out, lse] = saved.slice(names.length) as [tf.Tensor, tf.Tensor]
      const [slopes, lseSlopes] = dys as [tf.Tensor, tf.Tensor]
      const made = softmaxAttentionGradient(given, {out, lse, slopes, lseSlopes}, attributes)
      return Object.fromEntries(Object.entries(made).map(([name, slope]) => [name, () => slope]))
    },
  }
}

function composite(
  query: tf.Tensor4D,
  key: tf.Tensor4D,
  value: tf.Tensor4D,
  {
    scale,
    keyBias,
    causal,
    keyMask,
  }: Required<Pick<SoftmaxAttentionOptions, 'scale' | 'causal'>> & SoftmaxAttentionOptions,
): tf.Tensor[] {
  const [batch, heads, queryLen, headDim] = query.shape
  const keyLen = key.shape[2]
  const valueDim = value.shape[3]
  const rows = batch * heads
  const keys: tf.Tensor3D = tf.reshape(key, [rows, keyLen, headDim])
  const values: tf.Tensor3D = tf.reshape(value, [rows, keyLen, valueDim])
  const scaled: tf.Tensor4D = scale === 1 ? query : tf.mul(query, scale)
  const queries: tf.Tensor3D = tf.reshape(scaled, [rows, queryLen, headDim])
  const bias: tf.Tensor3D | undefined = keyBias && tf.reshape(keyBias, [rows, 1, keyLen])
  const mask = keyMask && headMask(keyMask as KeyMask, heads)
  const tiles: Running[] = []
  for (let start = 0; start < queryLen; start += QUERY_TILE) {
    const length = Math.min(QUERY_TILE, queryLen - start)
    const tile = tf.slice(queries, [0, start, 0], [rows, length, headDim])
    tiles.push(queryTile(tile, start, keys, values, bias, mask, causal))
  }
  const out =
    tiles.length === 1
      ? tiles[0]!.out
      : tf.concat(
          tiles.map(t => t.out),
          1,
        )
  const lse =
    tiles.length === 1
      ? tiles[0]!.lse
      : tf.concat(
          tiles.map(t => t.lse),
          1,
        )
  const seen = sawAnyKey(lse)
  return [
    tf.reshape(tf.mul(out, seen), [batch, heads, queryLen, valueDim]),
    tf.reshape(tf.where<tf.Tensor>(tf.cast(seen, 'bool'), lse, tf.scalar(-Infinity)), [
      batch,
      heads,
      queryLen,
    ]),
  ]
}

/** Normalised output of the keys so far and the log-sum of their weights. */
interface Running {
  out: tf.Tensor3D // [N, l, Dv]
  lse: tf.Tensor3D // [N, l, 1]
}

function queryTile(
  queries: tf.Tensor3D,
  firstRow: number,
  keys: tf.Tensor3D,
  values: tf.Tensor3D,
  bias: tf.Tensor3D | undefined,
  mask: tf.Tensor3D | undefined,
  causal: boolean,
): Running {
  const [rows, length, headDim] = queries.shape
  const keyLen = keys.shape[1]
  const valueDim = values.shape[2]
  // tiles wholly above the diagonal are never made: about half of the work
  const end = causal ? Math.min(keyLen, firstRow + length) : keyLen
  let running: Running | undefined
  for (let start = 0; start < end; start += KEY_TILE) {
    const width = Math.min(KEY_TILE, end - start)
    const cut = (tensor: tf.Tensor3D): tf.Tensor3D =>
      tf.slice(tensor, [0, 0, start], [tensor.shape[0], 1, width])
    let logits = matMul(queries, tf.slice(keys, [0, start, 0], [rows, width, headDim]), false, true)
    if (bias) logits = tf.add(logits, cut(bias))
    if (mask) logits = maskLogits(logits, cut(mask))
    if (causal && start + width > firstRow + 1) {
      logits = maskLogits(logits, causalMask(length, width, firstRow, start))
    }
    const tile = softmaxTile(logits, tf.slice(values, [0, start, 0], [rows, width, valueDim]))
    running = running ? merge(running, tile) : tile
  }
  if (running) return running
  return {out: tf.zeros([rows, length, valueDim]), lse: tf.fill([rows, length, 1], MASKED)}
}

/** Softmax of one tile, which itself subtracts each row's maximum. The log-sum comes from the largest weight, exp(max - lse): no second pass of exp. */
function softmaxTile(logits: tf.Tensor3D, values: tf.Tensor3D): Running {
  const weights = tf.softmax(logits)
  const top = tf.max(logits, -1, true)
  const lse = tf.sub(top, tf.log(tf.max(weights, -1, true)))
  return {out: matMul(weights, values), lse: lse as tf.Tensor3D}
}

/**
 * Two disjoint sets of keys together: `out = sum_t e^{lse_t} out_t / sum_t e^{lse_t}`. Relative to the larger log-sum
 * one exponential is 1 and the other at most 1: nothing overflows, and the divisor does not vanish.
 */
function merge(a: Running, b: Running): Running {
  const top = tf.maximum(a.lse, b.lse)
  const weightA = tf.exp(tf.sub(a.lse, top))
  const weightB = tf.exp(tf.sub(b.lse, top))
  const total = tf.add(weightA, weightB)
  const out = tf.add(tf.mul(a.out, tf.div(weightA, total)), tf.mul(b.out, tf.div(weightB, total)))
  return {out: out as tf.Tensor3D, lse: tf.add(top, tf.log(total)) as tf.Tensor3D}
}
