/** The exact output that estimates are held against, kept for the cells that share it. */
import * as tf from '@tensorflow/tfjs-core'
import {exactAttention, forEachExactRow, softmaxAttention} from '../../attention/index.js'
import {type ExactOptions, exactWork, hostData} from '../../attention/internal.js'
import type {AttentionInput} from '../../inputs/attention-input.js'

/** Exact output and how it was computed. */
export interface Truth {
  /** `[B, H, L, Dv]` */
  output: Float64Array
  /** `float32-tiled` where double precision would take too long; its own error is about 1e-6. */
  precision: 'float64' | 'float32-tiled'
}

/** Multiply-adds beyond which softmax is computed in float32 tiles: about ten seconds in float64. */
export const FLOAT64_BUDGET = 8e9

/** Computes the exact output of the target. */
export function computeTruth(input: AttentionInput, options: ExactOptions): Truth {
  const {query, key, value} = input
  const {kernel, inputs, constant} = options.target
  const tiled = kernel === 'softmax' && inputs === 'canonical' && !constant
  if (tiled && exactWork(query, value) > FLOAT64_BUDGET) {
    return {output: tiledOutput(input, options), precision: 'float32-tiled'}
  }
  return {output: exactAttention(query, key, value, options), precision: 'float64'}
}

function tiledOutput(input: AttentionInput, options: ExactOptions): Float64Array {
  const {target, logitScale, causal} = options
  const {out} = hostData(() => {
    const [query, key, value] = [input.query, input.key, input.value].map(({data, shape}) =>
      tf.tensor4d(data, shape),
    ) as [tf.Tensor4D, tf.Tensor4D, tf.Tensor4D]
    const scale = logitScale * target.inputScale ** 2
    return {out: softmaxAttention(query, key, value, {scale, causal}).out}
  })
  return Float64Array.from(out)
}

/** Exact weights `[B, H, L, S]`, zero above the diagonal when causal. */
export function exactWeights(input: AttentionInput, options: ExactOptions): Float64Array {
  const [batch, heads, queryLen] = input.query.shape
  const keyLen = input.key.shape[2]
  const out = new Float64Array(batch * heads * queryLen * keyLen)
  forEachExactRow(input.query, input.key, options, (row, head, weights) => {
    out.set(weights, (head * queryLen + row) * keyLen)
  })
  return out
}

/** Mean of the values in view of each query: the yardstick's output, `[B, H, L, Dv]`. */
export function meanValue(input: AttentionInput, causal: boolean): Float64Array {
  const [batch, heads, queryLen] = input.query.shape
  const [, , keyLen, valueDim] = input.value.shape
  const out = new Float64Array(batch * heads * queryLen * valueDim)
  const sum = new Float64Array(valueDim)
  for (let head = 0; head < batch * heads; head++) {
    sum.fill(0)
    let seen = 0
    for (let row = 0; row < queryLen; row++) {
      const inView = causal ? Math.min(row + 1, keyLen) : keyLen
      for (; seen < inView; seen++) {
        const base = (head * keyLen + seen) * valueDim
        for (let d = 0; d < valueDim; d++) sum[d]! += input.value.data[base + d]!
      }
      const target = (head * queryLen + row) * valueDim
      for (let d = 0; d < valueDim; d++) out[target + d] = sum[d]! / inView
    }
  }
  return out
}
