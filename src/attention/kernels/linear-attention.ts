import {tf} from '../../tf.js'
import {checkObject} from '../check-tensor.js'
import type {KeyMask} from '../types.js'
import {causalSums} from './causal-sums.js'
import {fusedOrComposite, type Gradient, recordsGradients} from './dispatch.js'
import {linearAttentionSizes} from './feature-checks.js'
import {
  type FeatureSpec,
  type Features,
  formFeatures,
  recipeAttributes,
  specsOf,
} from './feature-spec.js'
import {type Guard, normalize, parseGuard} from './guard.js'
import {headMask, maskLogits} from './masking.js'
import {matMul} from './mat-mul.js'
import {withOnes} from './with-ones.js'

/** Options of {@link linearAttention}. */
export interface LinearAttentionOptions {
  /** Query i sees keys j <= i only. Default false. */
  causal?: boolean
  /** `[B, S]`, nonzero = present; the features of masked keys count as zero. */
  keyMask?: tf.Tensor | undefined
  /**
   * Each key's weight is multiplied by `exp(keyLogWeight)`, `[B, H, S]`. Numerator and denominator
   * then share an unknown positive factor per query (a running maximum, from the past only), so
   * only their ratio and signs mean something. Default none.
   */
  keyLogWeight?: tf.Tensor | undefined
  /** Log of the forget gate, `[B, H, S]`, <= 0: key j counts at i with `exp(sum of gates j+1..i)`. Causal only. */
  logGate?: tf.Tensor | undefined
  /** Sums carried in from earlier tokens: `[B, H, F, Dv]` and `[B, H, F]`. Causal only, without keyLogWeight. */
  initialState?: {state: tf.Tensor; normalizer: tf.Tensor} | undefined
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
  value: tf.Tensor,
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
  value: tf.Tensor,
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
  value: tf.Tensor,
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
  const {queryLen, keyLen} = linearAttentionSizes(inputs, attributes)
  if (recordsGradients() && !keyLogWeight && !logGate && !initialState) {
    if (!causal || queryLen === keyLen) {
      return recorded([querySpec, keySpec], value as tf.Tensor4D, {causal, keyMask}, guard)
    }
  }
  return fusedOrComposite('LinearAttention', inputs, attributes, () => {
    const sums = composite(
      formFeatures(querySpec),
      formFeatures(keySpec),
      value as tf.Tensor4D,
      options,
    )
    if (guard === undefined) return sums
    const [numerator, denominator] = sums as [tf.Tensor4D, tf.Tensor3D]
    return [normalize({numerator, denominator}, guard).out, denominator]
  })
}

/** While gradients are recorded: features by themselves, which have theirs, and sums over them with the gradient below. */
function recorded(
  sides: [FeatureSpec, FeatureSpec],
  value: tf.Tensor4D,
  {causal = false, keyMask}: LinearAttentionOptions,
  guard: Guard | undefined,
): tf.Tensor[] {
  const [query, formed] = sides.map(formFeatures) as [tf.Tensor4D, tf.Tensor4D]
  const [batch, heads, keyLen] = formed.shape
  const mask = keyMask && tf.reshape(headMask(keyMask as KeyMask, heads), [batch, heads, keyLen, 1])
  const key = mask ? tf.mul(formed, mask) : formed
  const explicit = {kind: 'explicit'}
  const attributes = {query: explicit, key: explicit, causal}
  const sums = fusedOrComposite(
    'LinearAttention',
    {query, key, value},
    attributes,
    () => composite(query, key as tf.Tensor4D, value, {causal}),
    GRADIENT,
  )
  if (guard === undefined) return sums
  const [numerator, denominator] = sums as [tf.Tensor4D, tf.Tensor3D]
  return [normalize({numerator, denominator}, guard).out, denominator]
}

/**
 * Of explicit features: each gradient is linear attention again, the roles exchanged. With `w_ij = dn_i.v_j + dd_i`,
 * `dq_i = sum_{j <= i} w_ij k_j`, `dk_j = sum_{i >= j} w_ij q_i` and `dv_j = sum_{i >= j} (q_i.k_j) dn_i`; sums over
 * later tokens run through reversed ones. Nothing of L x F numbers is kept, besides the features themselves.
 *
 * Source: Katharopoulos et al. 2020, arXiv:2006.16236, eq. 13-15.
 */
const GRADIENT: Gradient = {
  inputsToSave: ['query', 'key', 'value'],
  gradFunc(dys, saved, attributes) {
    const [query, key, value] = saved as [tf.Tensor4D, tf.Tensor4D, tf.Tensor4D]
    const [slopes, denominatorSlopes] = dys as [tf.Tensor4D, tf.Tensor3D]
    const {causal} = attributes as unknown as {causal: boolean}
    const [batch, heads, keyLen] = key.shape
    const sum = (q: tf.Tensor4D, k: tf.Tensor4D, v: tf.Tensor4D) =>
      linearAttention(q, k, v, {causal}).numerator
    const backwards = (x: tf.Tensor4D) => (causal ? tf.reverse(x, 2) : x)
    const later = (q: tf.Tensor4D, k: tf.Tensor4D, v: tf.Tensor4D) =>
      backwards(sum(backwards(q), backwards(k), backwards(v)))
    // a column of ones for the denominator
    const values = tf.concat([value, tf.ones([batch, heads, keyLen, 1])], 3)
    const all = tf.concat([slopes, tf.expandDims(denominatorSlopes, 3)], 3) as tf.Tensor4D
    return {
      query: () => sum(all, values as tf.Tensor4D, key),
      key: () => later(values as tf.Tensor4D, all, query),
      value: () => later(key, query, slopes),
    }
  },
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
  const mask = keyMask && headMask(keyMask as KeyMask, heads) // [N, 1, S]
  const queries: tf.Tensor3D = tf.reshape(queryFeatures, [rows, queryLen, featureDim])
  let keys: tf.Tensor3D = tf.reshape(keyFeatures, [rows, keyLen, featureDim])
  // after the map: features of a zeroed token would not be zero
  if (mask) keys = tf.mul(keys, tf.reshape<tf.Rank.R3>(mask, [rows, keyLen, 1]))
  let logWeight: tf.Tensor3D | undefined =
    keyLogWeight && tf.reshape(keyLogWeight, [rows, 1, keyLen])
  if (mask && logWeight) logWeight = maskLogits(logWeight, mask)
  const values = withOnes(tf.reshape(value, [rows, keyLen, valueDim]) as tf.Tensor3D)
  const sums = causal
    ? causalSums(queries, keys, values, {
        logWeight,
        logGate: logGate && tf.reshape(logGate, [rows, 1, keyLen]),
        carried: initialState && packState(initialState as LinearState),
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
    // one scalar on all keys of a head cancels in the ratio: the largest weight becomes 1
    const factor = tf.exp(tf.sub(logWeight, tf.max(logWeight, -1, true))) // [N, 1, S]
    weighted = tf.mul(values, tf.transpose(factor, [0, 2, 1]))
  }
  // keys with values first: O((L + S) F Dv), where queries with keys would take O(L S F)
  return matMul(queries, matMul(keys, weighted, true))
}
