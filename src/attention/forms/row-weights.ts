/**
 * Weights of some queries over all keys, from the features that `attend` uses. Queries and keys change places in the operations
 * of attention: every key reads the few queries, so that its features are formed tile by tile and no `L x S` matrix arises.
 */
import {tf} from '../../tf.js'
import {guardDenominator, quotient} from '../kernels/guard.js'
import {
  type Features,
  formFeatures,
  linearAttention,
  maskLogits,
  softmaxAttention,
} from '../kernels/index.js'
import {presence} from '../kernels/masking.js'
import type {Projection} from '../types.js'
import {blankRows} from './blank-rows.js'
import type {ReadOptions} from './decoders/sums.js'
import {
  applyMap,
  isRecipe,
  type ScaledMap,
  type TokenFeatures,
  type TokenMap,
} from './decoders/tokens.js'
import type {AttendInputs, RowChoice} from './estimator.js'
import {bridgeQueries, bridgesOf, type LogPhi} from './positive-attention.js'

/** The chosen rows of every head, `[B, H, n, D]`. @param x - `[B, H, L, D]` */
function chosenRows(x: tf.Tensor4D, {places, count}: RowChoice): tf.Tensor4D {
  const [batch, heads, length, width] = x.shape
  const flat = Int32Array.from(places, (place, at) => Math.floor(at / count) * length + place)
  const rows = tf.gather(tf.reshape(x, [-1, width]), tf.tensor1d(flat, 'int32'))
  return tf.reshape(rows, [batch, heads, count, width])
}

/** Weights from sums of features, with their guard, `[B, H, n, S]`. */
export function sumRows(
  inputs: AttendInputs,
  maps: TokenFeatures,
  {guard, normalizerEpsilon = 0}: ReadOptions,
  rows: RowChoice,
): tf.Tensor4D {
  const {query, key, causal} = inputs
  const queries = chosenFeatures(maps.query, query, rows)
  const keys = 'scaled' in maps.key ? maps.key.scaled(key) : undefined
  const logWeight = keys?.logScale ?? maps.keyLogWeight?.(key)
  const features = keys?.features ?? applyMap(maps.key as TokenMap, key)
  const {numerator} = linearAttention(features, queries, eachOf(inputs, rows))
  const seen = visible(inputs, rows)
  const weights = tf.mul(turned(numerator), relativeWeights(logWeight, seen)) as tf.Tensor4D
  const sums: tf.Tensor3D = tf.sum(weights, -1)
  const epsilon = causal ? normalizerEpsilon : 0
  const denominator: tf.Tensor3D =
    epsilon === 0 ? sums : tf.add(sums, tf.mul(tf.sum(formFeatures(queries), -1), epsilon))
  return quotient(weights, guardDenominator(denominator, guard))
}

/** Features of the chosen queries; a function may look at all of them, a recipe takes one after the other. */
function chosenFeatures(map: TokenMap | ScaledMap, query: tf.Tensor4D, rows: RowChoice): Features {
  if ('scaled' in map) return chosenRows(map.scaled(query).features, rows)
  return isRecipe(map) ? applyMap(map, chosenRows(query, rows)) : chosenRows(map(query), rows)
}

/** Keys' weights relative to the largest that a row sees, 0 of those that it does not see, as {@link visible}. */
function relativeWeights(logWeight: tf.Tensor3D | undefined, seen: tf.Tensor4D): tf.Tensor4D {
  if (!logWeight) return seen
  const logs = maskLogits(tf.expandDims(logWeight, 2), seen)
  return tf.mul(tf.exp(tf.sub(logs, tf.max(logs, -1, true))), seen)
}

/** What logarithms of positive features add up to. */
export interface BridgeRows {
  /** `[M', D]`, `[H, M', D]` or `[B, H, M', D]` */
  bridges: Projection | tf.Tensor4D
  /** Log of each bridge vector's weight, `[B, H, M']`. Default 0. */
  logWeight?: tf.Tensor3D | undefined
  /** Log of each key's weight, `[B, H, S]`. Default 0. */
  keyBias?: tf.Tensor3D | undefined
}

/** Of features given by their logarithms, `[B, H, n, S]`. */
export function logRows(inputs: AttendInputs, phi: LogPhi, rows: RowChoice): tf.Tensor4D {
  return bridgeRows(inputs, bridgesOf(phi, inputs), rows)
}

/** Rows of `sum_s exp(b_s.x_i + b_s.y_j + logWeight_s + keyBias_j)`, `[B, H, n, S]`. */
export function bridgeRows(
  inputs: AttendInputs,
  {bridges, logWeight, keyBias}: BridgeRows,
  rows: RowChoice,
): tf.Tensor4D {
  const {key, inputScale: scale} = inputs
  const omega = bridgeQueries(bridges)
  const queries = chosenRows(inputs.query, rows)
  const each = eachOf(inputs, rows)
  // each query's features sum to one, so that none is lost among larger ones: its factor cancels in its row
  const sums = softmaxAttention(queries, omega, tf.ones([1, 1, omega.shape[2], 1]), {scale})
  const shares = softmaxAttention(omega, queries, each, {scale, keyBias: tf.neg(sums.lse)})
  const bias = logWeight ? tf.add<tf.Tensor3D>(shares.lse, logWeight) : shares.lse
  const read = softmaxAttention(key, omega, shares.out, {scale, keyBias: bias})
  const ofKeys = keyBias ? tf.add(read.lse, keyBias) : read.lse
  const logs = tf.add(tf.log(turned(read.out)), tf.expandDims(ofKeys, 2))
  return softmaxOfSeen(logs as tf.Tensor4D, visible(inputs, rows))
}

function softmaxOfSeen(logs: tf.Tensor4D, seen: tf.Tensor4D): tf.Tensor4D {
  // a weight below the range of float32 has the logarithm -Infinity, which arithmetic with masks does not bear
  const known = tf.where(tf.cast(seen, 'bool'), logs, tf.fill(logs.shape, Number.NEGATIVE_INFINITY))
  return tf.softmax(known)
}

/** Values that tell the chosen queries apart, `[B, H, n, n]`. */
function eachOf({query}: AttendInputs, {count}: RowChoice): tf.Tensor4D {
  const [batch, heads] = query.shape
  return tf.tile(tf.reshape(tf.eye(count), [1, 1, count, count]), [batch, heads, 1, 1])
}

function turned(columns: tf.Tensor4D): tf.Tensor4D {
  return tf.transpose(columns, [0, 1, 3, 2])
}

/** 1 where a chosen query sees a key, else 0, `[B, H, n, S]`, with axes of length 1 where that is the same. */
function visible(inputs: AttendInputs, {places, count}: RowChoice): tf.Tensor4D {
  const {query, key, causal, keyMask} = inputs
  const [batch, heads] = query.shape
  const keyLen = key.shape[2]
  const present: tf.Tensor4D = keyMask
    ? tf.reshape(presence(keyMask), [batch, 1, 1, keyLen])
    : tf.ones([1, 1, 1, keyLen])
  if (!causal) return present
  const earlier = blankRows(inputs)
  const seen = new Float32Array(places.length * keyLen)
  for (let at = 0; at < places.length; at++) {
    seen.fill(1, at * keyLen, at * keyLen + Math.min(earlier + places[at]! + 1, keyLen))
  }
  const past = tf.tensor4d(seen, [batch, heads, count, keyLen])
  return keyMask ? tf.mul(past, present) : past
}
