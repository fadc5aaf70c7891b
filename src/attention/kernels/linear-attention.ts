import {tf} from '../../tf.js'
import {checkObject} from '../check-tensor.js'
import type {KeyMask, Projection} from '../types.js'
import {causalSums} from './causal-sums.js'
import type {Inputs} from './checks.js'
import {fusedOrComposite, type Gradient} from './dispatch.js'
import {type LinearAttributes, linearAttentionSizes} from './feature-checks.js'
import {type Features, formFeatures, recipeAttributes, specsOf} from './feature-spec.js'
import {type Guard, normalize, parseGuard} from './guard.js'
import {linearAttentionGradient} from './linear-attention-gradient.js'
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
  linearAttentionSizes(inputs, attributes)
  const form = () => definition(inputs, attributes)
  return fusedOrComposite('LinearAttention', inputs, attributes, form, gradientOf(inputs, guard))
}

/** Of the inputs that are there, and of the outputs where their quotient is asked for. */
function gradientOf(
  inputs: Inputs<tf.Tensor>,
  guard: Guard | undefined,
): Gradient<LinearAttributes> {
  const names = Object.keys(inputs).filter(name => inputs[name])
  const divided = guard !== undefined
  return {
    inputsToSave: names,
    outputsToSave: [divided, divided],
    gradFunc(dys, saved, attributes) {
      const given = Object.fromEntries(names.map((name, at) => [name, saved[at]]))
      const [out, denominator] = saved.slice(names.length)
      const [slopes, denominatorSlopes] = dys as [tf.Tensor, tf.Tensor]
      const outputs = {slopes, denominatorSlopes, out, denominator}
      const made = linearAttentionGradient(given, outputs, attributes, definition)
      return Object.fromEntries(Object.entries(made).map(([name, slope]) => [name, () => slope]))
    },
  }
}

/** Features of both sides, sums over them, and the quotient where there is a guard. */
function definition(inputs: Inputs<tf.Tensor>, attributes: LinearAttributes): tf.Tensor[] {
  const {guard, causal} = attributes
  const {value, keyMask, keyLogWeight, logGate, initialState, initialNormalizer} = inputs
  const side = (name: 'query' | 'key') =>
    formFeatures({
      ...{...attributes[name], x: inputs[name]!},
      projection: inputs[`${name}Projection`] as Projection | undefined,
    })
  const carried = initialState && {state: initialState, normalizer: initialNormalizer!}
  const options = {causal, keyMask, keyLogWeight, logGate, initialState: carried}
  const sums = composite(side('query'), side('key'), value as tf.Tensor4D, options)
  if (guard === undefined) return sums
  const [numerator, denominator] = sums as [tf.Tensor4D, tf.Tensor3D]
  return [normalize({numerator, denominator}, guard).out, denominator]
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
