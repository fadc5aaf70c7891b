/**
 * Cost models: floating-point operations, a multiply-add counting two. They plan runs; benchmarks print them
 * next to measured times. For memory see `footprint/`.
 */
import {CAUSAL_CHUNK} from '../kernels/causal-sums.js'
import type {CallShape, Cost} from '../types.js'

const FLOAT_BYTES = 4
/** Elementary operations that one exp, sin or cos stands for. */
export const TRANSCENDENTAL = 10

/** Exact attention: `2 L S (D + Dv)` and the softmax; tiles skip half of a causal square. */
export function softmaxCost(shape: CallShape, {tiled}: {tiled: boolean}): Cost {
  const {batch, heads, queryLen, keyLen, headDim, valueDim, causal} = shape
  const pairs = queryLen * keyLen * (causal && tiled ? 0.5 : 1)
  return {flops: batch * heads * pairs * (2 * (headDim + valueDim) + TRANSCENDENTAL)}
}

/**
 * Randomized attention: one exact attention per sample, and the logits of the draw where there is one
 * (for other centres as much is assumed).
 */
export function randomizedCost(shape: CallShape, samples: number): Cost {
  const exact = softmaxCost(shape, {tiled: true})
  const draw = softmaxCost({...shape, valueDim: 0}, {tiled: true})
  return {flops: samples * exact.flops + draw.flops}
}

/**
 * Importance sampling from C proposals with `perProposal` vectors each: two attentions over those vectors,
 * `2 (L + S) C' (D + Dv)`, densities `2 C' C D`, means, and with `corrected` weights the affinities
 * `2 L C D`.
 */
export function importanceCost(
  shape: CallShape,
  proposals: number,
  perProposal: number,
  corrected: boolean,
): Cost {
  const {batch, heads, queryLen, keyLen, headDim, valueDim} = shape
  const vectors = proposals * perProposal
  const pairs = (queryLen + keyLen) * vectors
  const affinities = corrected ? queryLen * proposals : 0
  const perHead =
    pairs * (2 * (headDim + valueDim) + TRANSCENDENTAL) +
    2 * vectors * proposals * headDim +
    (queryLen + keyLen) * headDim +
    affinities * (2 * headDim + TRANSCENDENTAL)
  return {flops: batch * heads * perHead}
}

/**
 * Attention with F explicit features from M projections: projection `2 (L + S) M D`, sums
 * `2 S F Dv`, read `2 L F (Dv + 1)`; causal forms add the products inside chunks; the mask leaves half of them.
 */
export function featureCost(shape: CallShape, featureDim: number, projected: number): Cost {
  const {batch, heads, queryLen, keyLen, headDim, valueDim, causal} = shape
  const tokens = queryLen + keyLen
  const inside = causal ? queryLen * (CAUSAL_CHUNK / 2) * (featureDim + valueDim + 1) : 0
  const perHead =
    2 * tokens * projected * headDim +
    TRANSCENDENTAL * tokens * featureDim +
    2 * tokens * featureDim * (valueDim + 1) +
    2 * inside
  return {flops: batch * heads * perHead}
}

/** A pass over the values and nothing else. */
export function passCost({batch, heads, keyLen, valueDim}: CallShape): Cost {
  return {flops: batch * heads * keyLen * valueDim}
}

/** Bytes of S `[F, Dv]` and z `[F]`, per batch and head. */
export function featureStateBytes(featureDim: number, valueDim: number): number {
  return featureDim * (valueDim + 1) * FLOAT_BYTES
}

/** Bytes of a cache of keys and values, per batch and head. */
export function cacheBytes(length: number, headDim: number, valueDim: number): number {
  return length * (headDim + valueDim) * FLOAT_BYTES
}
