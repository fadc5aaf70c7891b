/**
 * Cost models of the composite forms: floating-point operations (a multiply-add counts two) and
 * peak bytes of live tensors beside inputs and output. They plan runs and refuse plans that cannot
 * fit; measured times and memory stand beside them in every benchmark.
 */
import {CAUSAL_CHUNK} from './kernels/linear-attention.js'
import {KEY_TILE, QUERY_TILE} from './kernels/softmax-attention.js'
import type {CallShape, Cost} from './types.js'

const FLOAT_BYTES = 4
/** Elementary operations that one exp, sin or cos stands for. */
const TRANSCENDENTAL = 10

/** Exact attention: `2 L S (D + Dv)` and the softmax; logits and weights are held whole or in tiles. */
export function softmaxCost(shape: CallShape, tile: {rows: number; columns: number} | null): Cost {
  const {batch, heads, queryLen, keyLen, headDim, valueDim, causal} = shape
  const pairs = queryLen * keyLen * (causal && tile ? 0.5 : 1)
  const rows = Math.min(queryLen, tile?.rows ?? queryLen)
  const columns = Math.min(keyLen, tile?.columns ?? keyLen)
  return {
    flops: batch * heads * pairs * (2 * (headDim + valueDim) + TRANSCENDENTAL),
    liveBytes: batch * heads * rows * columns * 2 * FLOAT_BYTES,
  }
}

/**
 * Randomized attention: one exact attention per sample, and the logits of the draw where there is one
 * (for other centres as much is assumed).
 */
export function randomizedCost(shape: CallShape, samples: number): Cost {
  const {batch, heads, queryLen, headDim} = shape
  const tile = {rows: QUERY_TILE, columns: KEY_TILE}
  const exact = softmaxCost(shape, tile)
  const draw = softmaxCost({...shape, valueDim: 0}, tile)
  const vectors = batch * heads * queryLen * samples * headDim * FLOAT_BYTES
  return {
    flops: samples * exact.flops + draw.flops,
    liveBytes: Math.max(exact.liveBytes, draw.liveBytes) + 2 * vectors,
  }
}

/**
 * Importance sampling from C proposals with `perProposal` vectors each: two attentions over those vectors,
 * `2 (L + S) C' (D + Dv)`, densities `2 C' C D`, means, and with `corrected` weights the affinities
 * `2 L C D` and what they are held in.
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
  const live = (corrected ? 3 * queryLen * vectors : 0) + 3 * vectors * (headDim + valueDim)
  return {flops: batch * heads * perHead, liveBytes: batch * heads * live * FLOAT_BYTES}
}

/**
 * Attention with F explicit features from M projections: projection `2 (L + S) M D`, sums
 * `2 S F Dv`, read `2 L F (Dv + 1)`; causal forms add the masked products inside chunks.
 */
export function featureCost(shape: CallShape, featureDim: number, projected: number): Cost {
  const {batch, heads, queryLen, keyLen, headDim, valueDim, causal} = shape
  const tokens = queryLen + keyLen
  const inside = causal ? queryLen * CAUSAL_CHUNK * (featureDim + valueDim + 1) : 0
  const perHead =
    2 * tokens * projected * headDim +
    TRANSCENDENTAL * tokens * featureDim +
    2 * tokens * featureDim * (valueDim + 1) +
    2 * inside
  const live = 2 * tokens * featureDim + featureDim * (valueDim + 1)
  return {flops: batch * heads * perHead, liveBytes: batch * heads * live * FLOAT_BYTES}
}

/** A pass over the values and nothing else. */
export function passCost({batch, heads, keyLen, valueDim}: CallShape): Cost {
  return {
    flops: batch * heads * keyLen * valueDim,
    liveBytes: batch * heads * valueDim * FLOAT_BYTES,
  }
}

/** Bytes of S `[F, Dv]` and z `[F]`, per batch and head. */
export function featureStateBytes(featureDim: number, valueDim: number): number {
  return featureDim * (valueDim + 1) * FLOAT_BYTES
}

/** Bytes of a cache of keys and values, per batch and head. */
export function cacheBytes(length: number, headDim: number, valueDim: number): number {
  return length * (headDim + valueDim) * FLOAT_BYTES
}
