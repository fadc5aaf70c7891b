/**
 * Recurrent forms: one token in, one token out, the state updated in place. Defined here in TensorFlow.js
 * operations; a backend's fused steps (fused-decoders.ts) go before.
 */
import * as tf from '@tensorflow/tfjs-core'
import {disposed} from '../check-tensor.js'
import {recordForm} from '../kernels/dispatch.js'
import {formFeatures} from '../kernels/feature-spec.js'
import {type Guard, normalize} from '../kernels/guard.js'
import {MASKED} from '../kernels/masking.js'
import type {FeatureRecipe} from '../kernels/recipe.js'
import {withOnes} from '../kernels/with-ones.js'
import type {Decoder} from '../types.js'
import {
  fusedFeatureDecoder,
  fusedKeyValueDecoder,
  fusedLogFeatureDecoder,
} from './fused-decoders.js'

/** Sizes every decoder needs. */
export interface DecoderShape {
  batch: number
  heads: number
  headDim: number
  valueDim: number
}

/** Turns one raw token `[B, H, 1, D]` into features `[B, H, 1, F]`: by recipe, or by a function. */
export type TokenMap = FeatureRecipe | ((token: tf.Tensor4D) => tf.Tensor4D)

/** Features of queries and keys, one token at a time. */
export interface TokenFeatures {
  query: TokenMap
  key: TokenMap
  /** Log of the key's weight, `[B, H, 1]`, where features alone would overflow. Default none. */
  keyLogWeight?(token: tf.Tensor4D): tf.Tensor3D
}

function mapToken(map: TokenMap, token: tf.Tensor4D): tf.Tensor4D {
  return typeof map === 'function' ? map(token) : formFeatures({...map, x: token})
}

/** Bytes of a set of tensors. */
function bytesOf(state: Record<string, tf.Tensor>): number {
  return Object.values(state).reduce((sum, tensor) => sum + tensor.size * 4, 0)
}

/** Refuses to go on with state that was disposed of. @throws {BAD_OPTION} */
function checkState(state: Readonly<Record<string, tf.Tensor>>): void {
  for (const name in state) if (state[name]?.isDisposed) throw disposed(`decoder.state.${name}`)
}

/** A decoder over named state tensors: `step` returns the new state and the output, the old one is freed. */
export function statefulDecoder<State extends Record<string, tf.Tensor>>(
  operation: string,
  initial: State,
  step: (
    state: State,
    tokens: [tf.Tensor4D, tf.Tensor4D, tf.Tensor4D],
    gate?: tf.Tensor3D,
  ) => {
    state: State
    out: tf.Tensor4D
  },
): Decoder {
  let state = initial
  for (const tensor of Object.values(state)) tf.keep(tensor)
  return {
    next(query, key, value, gate) {
      checkState(state)
      const old = state
      recordForm(operation, 'composite')
      return tf.tidy(() => {
        const result = step(state, [query, key, value], gate)
        for (const tensor of Object.values(result.state)) tf.keep(tensor)
        state = result.state
        for (const [name, tensor] of Object.entries(old)) {
          if (state[name] !== tensor) tensor.dispose()
        }
        return result.out
      })
    },
    get stateBytes() {
      return bytesOf(state)
    },
    get state() {
      return state
    },
    dispose() {
      tf.dispose(state)
    },
  }
}

/** A decoder that also frees tensors made for it; `next` may wrap its own. */
export function extendedDecoder(
  inner: Decoder,
  owned: tf.Tensor[],
  next: Decoder['next'] = inner.next,
): Decoder {
  return {
    next,
    get stateBytes() {
      return inner.stateBytes
    },
    get state() {
      return inner.state
    },
    dispose() {
      inner.dispose()
      tf.dispose(owned)
    },
  }
}

/**
 * Exact attention over a growing cache of keys and values.
 *
 * @param logitScale - multiplies q.k
 */
export function keyValueDecoder(shape: DecoderShape, logitScale: number): Decoder {
  const fused = fusedKeyValueDecoder(shape, logitScale)
  if (fused) return fused
  return cacheDecoder('CacheDecode', shape, (query, keys, values) => {
    const weights = tf.softmax(tf.mul(tf.matMul(query, keys, false, true), logitScale))
    return tf.matMul(weights, values)
  })
}

/** What a query reads from keys and values so far, `[B, H, t, D]` and `[B, H, t, Dv]`: `[B, H, 1, Dv]`. */
export type CacheReader = (
  query: tf.Tensor4D,
  keys: tf.Tensor4D,
  values: tf.Tensor4D,
) => tf.Tensor4D

/**
 * Keys and values so far, the new token's included, read by a function.
 *
 * @param operation - its name in records
 */
export function cacheDecoder(
  operation: string,
  {batch, heads, headDim, valueDim}: DecoderShape,
  read: CacheReader,
): Decoder {
  const initial = {
    key: tf.zeros<tf.Rank.R4>([batch, heads, 0, headDim]),
    value: tf.zeros<tf.Rank.R4>([batch, heads, 0, valueDim]),
  }
  return statefulDecoder(operation, initial, (state, [query, key, value]) => {
    const keys = appendToken(state.key, key)
    const values = appendToken(state.value, value)
    return {state: {key: keys, value: values}, out: read(query, keys, values)}
  })
}

/** A token after those so far. */
export function appendToken(cache: tf.Tensor4D, token: tf.Tensor4D): tf.Tensor4D {
  return cache.shape[2] === 0 ? tf.clone(token) : tf.concat([cache, token], 2)
}

/** How {@link featureDecoder} reads its sums. */
export interface FeatureDecoderOptions {
  guard: Guard
  /** Added to each running sum of key features when read. Default 0. */
  normalizerEpsilon?: number
}

/**
 * Running sums of explicit features: `S <- g S + (1 - g) phi(k) v^T`, `z` likewise (without a gate
 * `S <- S + phi(k) v^T`), then `out = phi(q) S / guard(phi(q).z)`.
 */
export function featureDecoder(
  shape: DecoderShape,
  featureDim: number,
  features: TokenFeatures,
  options: FeatureDecoderOptions,
): Decoder {
  const fused = fusedFeatureDecoder(shape, featureDim, features, options)
  if (fused) return fused
  const {guard, normalizerEpsilon = 0} = options
  const {batch, heads, valueDim} = shape
  const initial: Record<string, tf.Tensor> = {
    S: tf.zeros([batch, heads, featureDim, valueDim]),
    z: tf.zeros([batch, heads, featureDim, 1]),
  }
  if (features.keyLogWeight) initial.logScale = tf.fill([batch, heads, 1, 1], MASKED)
  return statefulDecoder('LinearDecode', initial, (state, [query, key, value], gate) => {
    let keyColumn: tf.Tensor = tf.transpose(mapToken(features.key, key), [0, 1, 3, 2]) // [B, H, F, 1]
    let keep: tf.Tensor = tf.scalar(1)
    const next: Record<string, tf.Tensor> = {}
    if (features.keyLogWeight && state.logScale) {
      const weight = tf.reshape(features.keyLogWeight(key), [batch, heads, 1, 1])
      next.logScale = tf.maximum(state.logScale, weight)
      keep = tf.exp(tf.sub(state.logScale, next.logScale))
      keyColumn = tf.mul(keyColumn, tf.exp(tf.sub(weight, next.logScale)))
    }
    if (gate) {
      const open = tf.reshape(gate, [batch, heads, 1, 1])
      keep = tf.mul(keep, open)
      keyColumn = tf.mul(keyColumn, tf.sub(1, open))
    }
    next.S = tf.add(tf.mul(state.S!, keep), tf.matMul(keyColumn, value))
    next.z = tf.add(tf.mul(state.z!, keep), keyColumn)
    const reader = mapToken(features.query, query) // [B, H, 1, F]
    const readable = normalizerEpsilon === 0 ? next.z : tf.add(next.z, normalizerEpsilon)
    const sums = {
      numerator: tf.matMul(reader, next.S) as tf.Tensor4D,
      denominator: tf.reshape(tf.matMul(reader, readable), [batch, heads, 1]) as tf.Tensor3D,
    }
    return {state: next, out: normalize(sums, guard).out}
  })
}

/**
 * Running sums of positive features given by logarithms, with a running maximum per feature: exact
 * for any norms.
 */
export function logFeatureDecoder(
  shape: DecoderShape,
  featureDim: number,
  features: Pick<TokenFeatures, 'query' | 'key'>,
): Decoder {
  const fused = fusedLogFeatureDecoder(shape, featureDim, features)
  if (fused) return fused
  const {batch, heads, valueDim} = shape
  const rows = batch * heads
  return statefulDecoder(
    'LogFeatureDecode',
    emptyLogSums(rows, featureDim, valueDim),
    (state, tokens) => {
      const [query, key, value] = tokens
      const {S, top} = withKey(state, mapToken(features.key, key), value)
      const a = tf.reshape(mapToken(features.query, query), [rows, 1, featureDim])
      const logits = tf.add(a, tf.transpose(top, [0, 2, 1]))
      const weights = tf.exp(tf.sub(logits, tf.max(logits, -1, true)))
      const sums = tf.matMul(weights, S) as tf.Tensor3D // [N, 1, Dv + 1]
      const out = tf.div(
        tf.slice(sums, [0, 0, 0], [rows, 1, valueDim]),
        tf.slice(sums, [0, 0, valueDim], [rows, 1, 1]),
      )
      return {state: {S, top}, out: tf.reshape(out, [batch, heads, 1, valueDim]) as tf.Tensor4D}
    },
  )
}

/**
 * Running sums with a running maximum per feature, each feature normalised by itself:
 * `out = sum_s p_s (sum_j e^{b_js} v_j / sum_j e^{b_js})`.
 *
 * @param features - p for queries and b, the logarithms, for keys
 */
export function mixtureDecoder(
  shape: DecoderShape,
  featureDim: number,
  features: Pick<TokenFeatures, 'query' | 'key'>,
): Decoder {
  const {batch, heads, valueDim} = shape
  const rows = batch * heads
  return statefulDecoder(
    'MixtureDecode',
    emptyLogSums(rows, featureDim, valueDim),
    (state, tokens) => {
      const [query, key, value] = tokens
      const next = withKey(state, mapToken(features.key, key), value)
      const means = tf.div(
        tf.slice(next.S, [0, 0, 0], [rows, featureDim, valueDim]),
        tf.slice(next.S, [0, 0, valueDim], [rows, featureDim, 1]),
      ) as tf.Tensor3D
      const weights = tf.reshape(mapToken(features.query, query), [rows, 1, featureDim])
      const out = tf.matMul(weights as tf.Tensor3D, means)
      return {state: next, out: tf.reshape(out, [batch, heads, 1, valueDim]) as tf.Tensor4D}
    },
  )
}

/** Sums `[N, F, Dv + 1]` (the last column is that of weights) times exp(-top), and top `[N, F, 1]`. */
type LogSums = {S: tf.Tensor3D; top: tf.Tensor3D}

function emptyLogSums(rows: number, featureDim: number, valueDim: number): LogSums {
  return {
    S: tf.zeros([rows, featureDim, valueDim + 1]),
    top: tf.fill([rows, featureDim, 1], MASKED),
  }
}

/** The sums with one more key, given by the logarithms of its features `[B, H, 1, F]`. */
function withKey(state: LogSums, logFeatures: tf.Tensor4D, value: tf.Tensor4D): LogSums {
  const [rows, featureDim] = state.top.shape
  const b = tf.reshape(logFeatures, [rows, featureDim, 1]) as tf.Tensor3D
  const top = tf.maximum(state.top, b) as tf.Tensor3D
  const row = withOnes(tf.reshape(value, [rows, 1, value.shape[3]]) as tf.Tensor3D) // [N, 1, Dv + 1]
  const fresh = tf.matMul(tf.exp(tf.sub(b, top)), row)
  const S = tf.add(tf.mul(state.S, tf.exp(tf.sub(state.top, top))), fresh) as tf.Tensor3D
  return {S, top}
}
