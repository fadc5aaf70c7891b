import * as tf from '@tensorflow/tfjs-core'
import {checkObject} from '../check-tensor.js'
import type {KeyMask} from '../types.js'
import {fusedOrComposite} from './dispatch.js'
import {linearAttentionSizes} from './feature-checks.js'
import {type Features, formFeatures, recipeAttributes, specsOf} from './feature-spec.js'
import {type Guard, normalize, parseGuard} from './guard.js'
import {causalMask, headMask, MASKED, maskLogits} from './masking.js'
import {matMul} from './mat-mul.js'

/** Options of {@link linearAttention}. */
export interface LinearAttentionOptions {
  /** Query i sees keys j <= i only. Default false. */
  causal?: boolean
  /** `[B, S]`, nonzero = present; the features of masked keys count as zero. */
  keyMask?: KeyMask | undefined
  /**
   * Each key's weight is multiplied by `exp(keyLogWeight)`, `[B, H, S]`. Numerator and denominator
   * then share an unknown positive factor per query (a running maximum, from the past only), so
   * only their ratio and signs mean something. Default none.
   */
  keyLogWeight?: tf.Tensor3D | undefined
  /** Log of the forget gate, `[B, H, S]`, <= 0: key j counts at i with `exp(sum of gates j+1..i)`. Causal only. */
  logGate?: tf.Tensor3D | undefined
  /** Sums carried in from earlier tokens: `[B, H, F, Dv]` and `[B, H, F]`. Causal only, without keyLogWeight. */
  initialState?: LinearState | undefined
}

/** Running sums over keys. */
export interface LinearState {
  /** Sum of phi(k) v^T, `[B, H, F, Dv]`. */
  state: tf.Tensor4D
  /** Sum of phi(k), `[B, H, F]`. */
  normalizer: tf.Tensor3D
}

/** Result of {@link linearAttention}: the guard on the denominator is the caller's choice. */
export interface LinearAttentionResult {
  /** `[B, H, L, Dv]` */
  numerator: tf.Tensor4D
  /** `[B, H, L]` */
  denominator: tf.Tensor3D
}

/** Tokens per chunk of the causal form: inside a chunk the masked product, across chunks the sums. */
export const CAUSAL_CHUNK = 64

/**
 * Attention with explicit features in linear time:
 * `numerator_i = phi(q_i)^T sum_j w_ij phi(k_j) v_j^T`, `denominator_i = phi(q_i)^T sum_j w_ij phi(k_j)`,
 * with `w_ij` from causality, mask, key weights and gates.
 *
 * @param query - phi(q) `[B, H, L, F]`, or a recipe for it: a fused kernel then forms features tile by tile
 * @param key - phi(k) `[B, H, S, F]`, or a recipe
 * @param value - `[B, H, S, Dv]`
 * @throws {SHAPE_MISMATCH | BAD_OPTION} when sides, values and options do not fit together
 * @throws {UNSUPPORTED} for logarithms of features, and for what only the causal form has without `causal`
 *
 * Source: Katharopoulos et al. 2020, arXiv:2006.16236, eq. 4-12; chunks: Likhosherstov et al. 2020,
 * arXiv:2012.11346; gates: Peng et al. 2021, arXiv:2103.02143, section 3.2.
 */
export function linearAttention(
  query: Features,
  key: Features,
  value: tf.Tensor4D,
  options: LinearAttentionOptions = {},
): LinearAttentionResult {
  const [numerator, denominator] = dispatch(query, key, value, options, undefined)
  return {numerator: numerator as tf.Tensor4D, denominator: denominator as tf.Tensor3D}
}

/** Result of {@link linearAttentionRatio}. */
export interface LinearAttentionRatio {
  /** `[B, H, L, Dv]` */
  out: tf.Tensor4D
  /** Before the guard, `[B, H, L]`. */
  denominator: tf.Tensor3D
}

/**
 * {@link linearAttention} with the division: `numerator / guard(denominator)`, 0 where that is 0.
 *
 * @param guard - what is done to the denominator first, as an object or spelled as `clamp:1e-2`
 * @throws what {@link linearAttention} throws; {BAD_OPTION} for an unknown guard
 */
export function linearAttentionRatio(
  query: Features,
  key: Features,
  value: tf.Tensor4D,
  guard: Guard | string,
  options: LinearAttentionOptions = {},
): LinearAttentionRatio {
  const [out, denominator] = dispatch(query, key, value, options, asGuard(guard))
  return {out: out as tf.Tensor4D, denominator: denominator as tf.Tensor3D}
}

function asGuard(guard: Guard | string): Guard {
  return typeof guard === 'object' && guard !== null ? guard : parseGuard(guard)
}

/** Numerator and denominator, or quotient and denominator with a guard. */
function dispatch(
  query: Features,
  key: Features,
  value: tf.Tensor4D,
  options: LinearAttentionOptions,
  guard: Guard | undefined,
): tf.Tensor[] {
  checkObject('LinearAttention.options', options)
  const {causal = false, keyMask, keyLogWeight, logGate, initialState} = options
  const [querySpec, keySpec] = specsOf('LinearAttention', query, key, 'features')
  const inputs = {
    query: querySpec.x,
    queryProjection: querySpec.projection,
    key: keySpec.x,
    keyProjection: keySpec.projection,
    value,
    keyMask,
    keyLogWeight,
    logGate,
    initialState: initialState?.state,
    initialNormalizer: initialState?.normalizer,
  }
  const attributes = {
    query: recipeAttributes(querySpec),
    key: recipeAttributes(keySpec),
    causal,
    ...(guard !== undefined && {guard}),
  }
  linearAttentionSizes(inputs, attributes)
  return fusedOrComposite('LinearAttention', inputs, attributes, () => {
    const sums = composite(formFeatures(querySpec), formFeatures(keySpec), value, options)
    if (guard === undefined) return sums
    const [numerator, denominator] = sums as [tf.Tensor4D, tf.Tensor3D]
    return [normalize({numerator, denominator}, guard).out, denominator]
  })
}

function composite(
  queryFeatures: tf.Tensor4D,
  keyFeatures: tf.Tensor4D,
  value: tf.Tensor4D,
  {causal = false, keyMask, keyLogWeight, logGate, initialState}: LinearAttentionOptions,
): tf.Tensor[] {
  const [batch, heads, queryLen, featureDim] = queryFeatures.shape
  const keyLen = keyFeatures.shape[2]
  const valueDim = value.shape[3]
  const rows = batch * heads
  const mask = keyMask && headMask(keyMask, heads) // [N, 1, S]
  const queries: tf.Tensor3D = tf.reshape(queryFeatures, [rows, queryLen, featureDim])
  let keys: tf.Tensor3D = tf.reshape(keyFeatures, [rows, keyLen, featureDim])
  if (mask) keys = tf.mul(keys, tf.reshape<tf.Rank.R3>(mask, [rows, keyLen, 1]))
  let logWeight: tf.Tensor3D | undefined =
    keyLogWeight && tf.reshape(keyLogWeight, [rows, 1, keyLen])
  if (mask && logWeight) logWeight = maskLogits(logWeight, mask)
  const values = withOnes(tf.reshape(value, [rows, keyLen, valueDim]) as tf.Tensor3D)
  const sums = causal
    ? causalSums(queries, keys, values, {
        logWeight,
        logGate: logGate && tf.reshape(logGate, [rows, 1, keyLen]),
        carried: initialState && packState(initialState),
      })
    : bidirectionalSums(queries, keys, values, logWeight)
  return [
    tf.reshape(tf.slice(sums, [0, 0, 0], [rows, queryLen, valueDim]), [
      batch,
      heads,
      queryLen,
      valueDim,
    ]),
    tf.reshape(tf.slice(sums, [0, 0, valueDim], [rows, queryLen, 1]), [batch, heads, queryLen]),
  ]
}

/** `[N, S, Dv]` to `[N, S, Dv + 1]`: the column of ones makes the denominator part of one product. */
export function withOnes(values: tf.Tensor3D): tf.Tensor3D {
  const [rows, length] = values.shape
  return tf.concat([values, tf.ones([rows, length, 1])], 2) as tf.Tensor3D
}

/** State and normaliser side by side, `[N, F, Dv + 1]`. */
function packState({state, normalizer}: LinearState): tf.Tensor3D {
  const [batch, heads, featureDim, valueDim] = state.shape
  const rows = batch * heads
  return tf.concat(
    [
      tf.reshape(state, [rows, featureDim, valueDim]),
      tf.reshape(normalizer, [rows, featureDim, 1]),
    ],
    2,
  ) as tf.Tensor3D
}

function bidirectionalSums(
  queries: tf.Tensor3D,
  keys: tf.Tensor3D,
  values: tf.Tensor3D,
  logWeight: tf.Tensor3D | undefined,
): tf.Tensor3D {
  let weighted = values
  if (logWeight) {
    const factor = tf.exp(tf.sub(logWeight, tf.max(logWeight, -1, true))) // [N, 1, S]
    weighted = tf.mul(values, tf.transpose(factor, [0, 2, 1]))
  }
  return matMul(queries, matMul(keys, weighted, true))
}

interface CausalExtras {
  logWeight: tf.Tensor3D | undefined // [N, 1, S]
  logGate: tf.Tensor3D | undefined // [N, 1, S]
  carried: tf.Tensor3D | undefined // [N, F, Dv + 1]
}

function causalSums(
  queries: tf.Tensor3D,
  keys: tf.Tensor3D,
  values: tf.Tensor3D,
  extras: CausalExtras,
): tf.Tensor3D {
  const [rows, queryLen, featureDim] = queries.shape
  const keyLen = keys.shape[1]
  const width = values.shape[2]
  let carried: Carried = {
    sums: extras.carried ?? tf.zeros<tf.Rank.R3>([rows, featureDim, width]),
    logScale: tf.fill([rows, 1, 1], extras.logWeight ? MASKED : 0),
  }
  const chunks: tf.Tensor3D[] = []
  for (let start = 0; start < queryLen; start += CAUSAL_CHUNK) {
    const length = Math.min(CAUSAL_CHUNK, queryLen - start)
    const queryChunk = tf.slice(queries, [0, start, 0], [rows, length, featureDim])
    const keyCount = Math.max(0, Math.min(CAUSAL_CHUNK, keyLen - start, length))
    if (keyCount === 0) {
      chunks.push(matMul(queryChunk, carried.sums))
      continue
    }
    const cut = (tensor: tf.Tensor3D | undefined) =>
      tensor && tf.slice(tensor, [0, 0, start], [rows, 1, keyCount])
    const chunk: Chunk = {
      queries: queryChunk,
      keys: tf.slice(keys, [0, start, 0], [rows, keyCount, featureDim]),
      values: tf.slice(values, [0, start, 0], [rows, keyCount, width]),
      logWeight: cut(extras.logWeight),
      logGate: cut(extras.logGate),
    }
    const weights = chunkWeights(chunk, carried.logScale)
    chunks.push(readChunk(chunk, carried.sums, weights))
    carried = advance(chunk, carried)
  }
  return chunks.length === 1 ? chunks[0]! : (tf.concat(chunks, 1) as tf.Tensor3D)
}

interface Carried {
  /** Sums over all keys before the chunk, times exp(-logScale), `[N, F, Dv + 1]`. */
  sums: tf.Tensor3D
  logScale: tf.Tensor3D // [N, 1, 1]
}

interface Chunk {
  queries: tf.Tensor3D // [N, l, F]
  keys: tf.Tensor3D // [N, s, F]
  values: tf.Tensor3D // [N, s, Dv + 1]
  logWeight: tf.Tensor3D | undefined // [N, 1, s]
  logGate: tf.Tensor3D | undefined // [N, 1, s]
}

interface ChunkWeights {
  pair: tf.Tensor3D // [N or 1, l, s], zero above the diagonal
  carried: tf.Tensor3D | undefined // [N, l, 1]; undefined: 1
}

/** Weight of each key and of the carried sums at each row, relative to the row's largest so far. */
function chunkWeights(chunk: Chunk, carriedScale: tf.Tensor3D): ChunkWeights {
  const length = chunk.queries.shape[1]
  const [rows, keyCount] = chunk.keys.shape
  const mask = causalMask(length, keyCount)
  if (!chunk.logWeight && !chunk.logGate) return {pair: mask, carried: undefined}
  const logGate = rowGates(chunk, length) // [N, l, 1]
  const columnGate = chunk.logGate && cumulative(chunk.logGate) // [N, 1, s]
  let pair: tf.Tensor = tf.zeros([rows, length, keyCount])
  if (logGate && columnGate) pair = tf.sub(logGate, columnGate)
  if (chunk.logWeight) pair = tf.add(pair, chunk.logWeight)
  pair = maskLogits(pair, mask)
  let carried: tf.Tensor = tf.add(carriedScale, logGate ?? tf.zeros([rows, length, 1]))
  if (chunk.logWeight) {
    const top = tf.maximum(tf.max(pair, -1, true), carried)
    pair = tf.sub(pair, top)
    carried = tf.sub(carried, top)
  }
  return {
    pair: tf.mul(tf.exp(pair), mask) as tf.Tensor3D,
    carried: tf.exp(carried) as tf.Tensor3D,
  }
}

/** Sum of log-gates from the chunk's start to each row, `[N, l, 1]`; rows beyond the last key forget no more. */
function rowGates(chunk: Chunk, length: number): tf.Tensor3D | undefined {
  if (!chunk.logGate) return undefined
  const sums = cumulative(chunk.logGate) // [N, 1, s]
  const [rows, , keyCount] = sums.shape
  const last = tf.slice(sums, [0, 0, keyCount - 1], [rows, 1, 1])
  const padded =
    length > keyCount ? tf.concat([sums, tf.tile(last, [1, 1, length - keyCount])], 2) : sums
  return tf.transpose(padded, [0, 2, 1]) as tf.Tensor3D
}

/** Inclusive running sum along the last axis. */
function cumulative(row: tf.Tensor3D): tf.Tensor3D {
  return tf.cumsum(row, 2)
}

function readChunk(chunk: Chunk, sums: tf.Tensor3D, weights: ChunkWeights): tf.Tensor3D {
  const scores = tf.mul(matMul(chunk.queries, chunk.keys, false, true), weights.pair)
  const inside = matMul(scores as tf.Tensor3D, chunk.values)
  const before = matMul(chunk.queries, sums)
  return tf.add(inside, weights.carried ? tf.mul(before, weights.carried) : before)
}

/** Folds the chunk's keys into the carried sums. */
function advance(chunk: Chunk, carried: Carried): Carried {
  const {logWeight, logGate} = chunk
  if (!logWeight && !logGate) {
    return {...carried, sums: tf.add(carried.sums, matMul(chunk.keys, chunk.values, true))}
  }
  const [rows, keyCount] = chunk.keys.shape
  let column: tf.Tensor = tf.zeros([rows, 1, keyCount])
  let old: tf.Tensor = carried.logScale
  if (logGate) {
    const total = tf.sum(logGate, -1, true) // [N, 1, 1]
    column = tf.sub(total, cumulative(logGate))
    old = tf.add(old, total)
  }
  let logScale: tf.Tensor = carried.logScale
  if (logWeight) {
    column = tf.add(column, logWeight)
    logScale = tf.maximum(tf.max(column, -1, true), old)
    column = tf.sub(column, logScale)
    old = tf.sub(old, logScale)
  }
  const weighted = tf.mul(chunk.values, tf.transpose(tf.exp(column), [0, 2, 1])) as tf.Tensor3D
  const sums = tf.add(tf.mul(carried.sums, tf.exp(old)), matMul(chunk.keys, weighted, true))
  return {sums: sums as tf.Tensor3D, logScale: logScale as tf.Tensor3D}
}
