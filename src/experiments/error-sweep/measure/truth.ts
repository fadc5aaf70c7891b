/** The exact output that estimates are held against, kept for the cells that share it. */

import {softmaxAttention} from '../../../attention/index.js'
import {
  type ExactOptions,
  exactOutput,
  exactWork,
  hasExactLoop,
  hostData,
  isCanonicalSoftmax,
} from '../../../attention/internal.js'
import type {AttentionInput} from '../../../inputs/attention-input.js'
import {tf} from '../../../tf.js'

/** Exact output and how it was computed. */
export interface Truth {
  /** `[B, H, L, Dv]` */
  output: Float64Array
  /** `float32-tiled` where double precision would take too long; its own error is about 1e-6. */
  precision: 'float64' | 'float32-tiled'
}

/**
 * Multiply-adds beyond which softmax is computed in float32 tiles: about ten seconds in float64. Of backends
 * without a loop of their own for it.
 */
export const FLOAT64_BUDGET = 8e9

/**
 * Computes the exact output of the target.
 *
 * @returns besides, the entropy of each row's weights `[B, H, L]` where it came with the output and the weights are
 *   those of softmax of the canonical inputs
 */
export function computeTruth(
  input: AttentionInput,
  options: ExactOptions,
): {truth: Truth; entropies: Float64Array | undefined} {
  const {query, key, value} = input
  const canonical = isCanonicalSoftmax(options.target)
  const loop = hasExactLoop(options.target)
  if (!loop && canonical && exactWork(query, value) > FLOAT64_BUDGET) {
    const output = tiledOutput(input, options)
    return {truth: {output, precision: 'float32-tiled'}, entropies: undefined}
  }
  const wanted = {...options, entropies: canonical}
  const {output, entropies} = exactOutput(query, key, value, wanted)
  return {truth: {output, precision: 'float64'}, entropies}
}

function tiledOutput(input: AttentionInput, options: ExactOptions): Float64Array {
  const {logitScale: scale, causal} = options
  const {out} = hostData(() => {
    const [query, key, value] = [input.query, input.key, input.value].map(({data, shape}) =>
      tf.tensor4d(data, shape),
    ) as [tf.Tensor4D, tf.Tensor4D, tf.Tensor4D]
    return {out: softmaxAttention(query, key, value, {scale, causal}).out}
  })
  return Float64Array.from(out)
}
