/** Attention from logarithms of positive features, exactly: no epsilon, no overflow, no leak. */
import {tf} from '../../tf.js'
import {causalFeatureAttention, halfSquaredNorm, softmaxAttention} from '../kernels/index.js'
import {finiteLogSums} from '../kernels/masking.js'
import type {FeatureRecipe} from '../kernels/recipe.js'
import type {Decoder, Projection} from '../types.js'
import {logFeatureDecoder} from './decoders/log-features.js'
import {applyMap, type DecoderShape, isRecipe, mapTokens, type TokenMap} from './decoders/tokens.js'
import type {AttendInputs} from './estimator.js'

/** Positive features `exp(w.x - |x|^2/2)` of the rows w of a projection, or of w and -w. */
interface PositiveRecipe extends FeatureRecipe {
  kind: 'log-positive' | 'log-hyperbolic'
  projection: Projection
}

/** Positive features `exp(b.x)` of other vectors b, with a map that gives their logarithms, factors of tokens among them. */
interface BridgeFeatures {
  logarithms: TokenMap
  /** The vectors b, `[F, D]` or `[H, F, D]`. */
  bridges(): Projection
  /** Log of each key's factor, `[B, H, S]`; that of a query cancels. Default 0. */
  keyBias?(key: tf.Tensor4D): tf.Tensor3D
}

/** Positive features that are summed by their logarithms. */
export type LogPhi = PositiveRecipe | BridgeFeatures

/** Whether features are given by their logarithms. */
export function isLogarithmic(phi: object): phi is LogPhi {
  return isRecipe(phi) ? phi.kind.startsWith('log-') : 'logarithms' in phi
}

function logarithmsOf(phi: LogPhi): TokenMap {
  return isRecipe(phi) ? phi : phi.logarithms
}

/** Logarithms of the features of tokens, `[B, H, n, F]`. */
export function logarithms(phi: LogPhi, x: tf.Tensor4D): tf.Tensor4D {
  return mapTokens(logarithmsOf(phi), x)
}

/** The features themselves, `[B, H, n, F]`; they overflow where logarithms pass 88. */
export function logFeatures(phi: LogPhi, x: tf.Tensor4D): tf.Tensor4D {
  return tf.exp(logarithms(phi, x))
}

/** Attention with these features, `[B, H, L, Dv]`: O((L + S) F (D + Dv)), whatever the norms. */
export function logAttention(inputs: AttendInputs, phi: LogPhi): tf.Tensor4D {
  const {query, key, value, causal, keyMask} = inputs
  if (causal) {
    const map = logarithmsOf(phi)
    return causalFeatureAttention(applyMap(map, query), applyMap(map, key), value, keyMask)
  }
  const {bridges, keyBias} = bridgesOf(phi, inputs)
  return bridgeAttention(inputs, bridges, keyBias)
}

/** The recurrent form. */
export function logDecoder(shape: DecoderShape, featureDim: number, phi: LogPhi): Decoder {
  const map = logarithmsOf(phi)
  return logFeatureDecoder(shape, featureDim, {query: map, key: map})
}

/** The vectors b of features `exp(b.x)` of queries and `exp(b.y + keyBias)` of keys. */
export function bridgesOf(
  phi: LogPhi,
  {key, inputScale}: Pick<AttendInputs, 'key' | 'inputScale'>,
): {bridges: Projection; keyBias?: tf.Tensor3D | undefined} {
  return isRecipe(phi)
    ? {bridges: rowsOf(phi), keyBias: normBias({key, inputScale})}
    : {bridges: phi.bridges(), keyBias: phi.keyBias?.(key)}
}

/** `-|y|^2 / 2` of canonical keys, `[B, H, S]`: exp(-|x|^2/2) of a query is shared by its row, and cancels. */
export function normBias({key, inputScale}: Pick<AttendInputs, 'key' | 'inputScale'>): tf.Tensor3D {
  return tf.neg(halfSquaredNorm(key, inputScale))
}

/** The vectors of a recipe: W, or [W; -W]. */
function rowsOf({kind, projection}: PositiveRecipe): Projection {
  if (kind === 'log-positive') return projection
  return tf.concat([projection, tf.neg(projection)] as tf.Tensor[], -2) as Projection
}

/** Tokens and mask, as the bidirectional form takes them. */
export type PositiveInputs = Pick<
  AttendInputs,
  'query' | 'key' | 'value' | 'inputScale' | 'keyMask'
>

/**
 * The ratio estimator of positive features with the given bridge vectors, as a self-normalised
 * mixture: each bridge vector attends to the keys, each query to the bridge vectors. Equal to
 * `sum_j phi(x_i).phi(y_j) v_j / sum_j phi(x_i).phi(y_j)` in exact arithmetic, and made of two softmaxes,
 * which overflow for no norm.
 *
 * @param bridges - `[M', D]`, `[H, M', D]` or `[B, H, M', D]`: the rows of W, or of [W; -W] for hyperbolic features
 * @param logWeight - log of each bridge vector's weight, `[B, H, M']`. Default 0.
 * @returns `[B, H, L, Dv]`
 *
 * Source: Zheng, Wang, Kong 2022, arXiv:2204.04667 (reading of random features as importance sampling).
 */
export function positiveAttention(
  inputs: PositiveInputs,
  bridges: Projection | tf.Tensor4D,
  logWeight?: tf.Tensor3D,
): tf.Tensor4D {
  return bridgeAttention(inputs, bridges, normBias(inputs), logWeight)
}

/**
 * The same of features `exp(w.x)` of queries and `exp(w.y + keyBias)` of keys.
 *
 * @param keyBias - `[B, H, S]`. Default 0.
 */
export function bridgeAttention(
  {query, key, value, inputScale: scale, keyMask}: PositiveInputs,
  bridges: Projection | tf.Tensor4D,
  keyBias?: tf.Tensor3D,
  logWeight?: tf.Tensor3D,
): tf.Tensor4D {
  const omega = bridgeQueries(bridges)
  // per bridge: the mean of the values under its softmax over keys, and the log of the denominator
  const {out: landmarks, lse} = softmaxAttention(omega, key, value, {scale, keyBias, keyMask})
  // a batch element without any key has lse = -Infinity everywhere: its landmarks are zero already
  const logs = keyMask ? finiteLogSums(lse) : lse
  const weighted: tf.Tensor3D = logWeight ? tf.add(logs, logWeight) : logs
  return softmaxAttention(query, omega, landmarks, {scale, keyBias: weighted}).out
}

/** Bridge vectors as queries that batch elements share unless they have their own, `[1 or B, H or 1, M', D]`. */
export function bridgeQueries(bridges: Projection | tf.Tensor4D): tf.Tensor4D {
  if (bridges.rank === 4) return bridges as tf.Tensor4D
  const [count, headDim] = bridges.shape.slice(-2) as [number, number]
  return tf.reshape(bridges, [1, bridges.rank === 3 ? bridges.shape[0] : 1, count, headDim])
}
