import {tf} from '../../tf.js'
import type {KeyMask, Projection} from '../types.js'
import {causalFeatureGradient} from './causal-feature-gradient.js'
import {CAUSAL_CHUNK} from './causal-sums.js'
import type {Inputs} from './checks.js'
import {fusedOrComposite, type Gradient} from './dispatch.js'
import {causalFeatureAttentionSizes, type SideAttributes} from './feature-checks.js'
import {type Features, formFeatures, recipeAttributes, specsOf} from './feature-spec.js'
import {logSumExp} from './log-sum-exp.js'
import {headMask, MASKED, maskLogits, sawAnyKey} from './masking.js'
import {matMul} from './mat-mul.js'
import {withOnes} from './with-ones.js'

/**
 * Causal attention with positive features given by their logarithms:
 * `out_i = sum_{j <= i} w_ij v_j / sum_{j <= i} w_ij`, `w_ij = sum_s exp(a_is + b_js)`.
 *
 * No epsilon and no leak of the future: every exponential is taken relative to a per-feature maximum
 * over keys that the query may see. Keys of earlier chunks are carried as sums with a running
 * maximum per feature; inside a chunk, halves are paired recursively (queries of a later half, keys
 * of the half before it), so that each pairing again sees only past keys. A term that underflows is
 * below 2^-126 of another term of the same query and feature, whatever the spread of the keys.
 * Work is O(L (C (F + Dv) + F Dv)) for chunks of C tokens.
 *
 * @param query - a, `[B, H, L, F]`, or a recipe of a `log-` kind: a fused kernel then forms it tile by tile
 * @param key - b, `[B, H, S, F]`, or a recipe
 * @param value - `[B, H, S, Dv]`
 * @param keyMask - `[B, S]`, nonzero = present
 * @returns `[B, H, L, Dv]`; zero for rows that see no key
 * @throws {SHAPE_MISMATCH | BAD_OPTION} when sides and values do not fit together
 * @throws {UNSUPPORTED} unless features are logarithms, and for a `featureScale`
 */
export function causalFeatureAttention(
  query: Features,
  key: Features,
  value: tf.Tensor,
  keyMask?: tf.Tensor,
): tf.Tensor4D {
  const [querySpec, keySpec] = specsOf('CausalFeatureAttention', query, key, 'logarithms')
  const inputs = {
    query: querySpec.x,
    queryProjection: querySpec.projection,
    key: keySpec.x,
    keyProjection: keySpec.projection,
    value,
    keyMask,
  }
  const attributes = {query: recipeAttributes(querySpec), key: recipeAttributes(keySpec)}
  causalFeatureAttentionSizes(inputs, attributes)
  const form = () => definition(inputs, attributes)
  const gradient = gradientOf(inputs)
  const [out] = fusedOrComposite('CausalFeatureAttention', inputs, attributes, form, gradient)
  return out as tf.Tensor4D
}

/** Of the inputs that are there. */
function gradientOf(inputs: Inputs<tf.Tensor>): Gradient<SideAttributes> {
  const names = Object.keys(inputs).filter(name => inputs[name])
  return {
    inputsToSave: names,
    outputsToSave: [true],
    gradFunc(dy, saved, attributes) {
      const given = Object.fromEntries(names.map((name, at) => [name, saved[at]]))
      const rest = {out: saved.at(-1), slopes: dy as tf.Tensor}
      const made = causalFeatureGradient(given, rest, attributes, definition)
      return Object.fromEntries(Object.entries(made).map(([name, slope]) => [name, () => slope]))
    },
  }
}

/** Features of both sides, and attention on them. */
function definition(inputs: Inputs<tf.Tensor>, attributes: SideAttributes): tf.Tensor[] {
  const side = (name: 'query' | 'key') =>
    formFeatures({
      ...{...attributes[name], x: inputs[name]!},
      projection: inputs[`${name}Projection`] as Projection | undefined,
    })
  const [value, keyMask] = [inputs.value as tf.Tensor4D, inputs.keyMask as KeyMask | undefined]
  return [composite(side('query'), side('key'), value, keyMask)]
}

/** Weighted sums `[N, l, Dv + 1]` (the last column is the sum of weights) times `exp(-logScale)`. */
interface Partial {
  sums: tf.Tensor3D
  logScale: tf.Tensor3D // [N, l, 1]
}

function composite(
  queryLogFeatures: tf.Tensor4D,
  keyLogFeatures: tf.Tensor4D,
  value: tf.Tensor4D,
  keyMask: KeyMask | undefined,
): tf.Tensor4D {
  const [batch, heads, queryLen, featureDim] = queryLogFeatures.shape
  const valueDim = value.shape[3]
  const rows = batch * heads
  const keyLen = keyLogFeatures.shape[2]
  let keys: tf.Tensor3D = tf.reshape(keyLogFeatures, [rows, keyLen, featureDim])
  if (keyMask) {
    keys = maskLogits(keys, tf.reshape(headMask(keyMask, heads), [rows, keyLen, 1]))
  }
  const chunk = Math.min(CAUSAL_CHUNK, 2 ** Math.ceil(Math.log2(Math.max(1, queryLen))))
  const length = Math.ceil(queryLen / chunk) * chunk
  const queries = fitLength(tf.reshape(queryLogFeatures, [rows, queryLen, featureDim]), length, 0)
  keys = fitLength(keys, length, MASKED)
  const values = fitLength(withOnes(tf.reshape(value, [rows, keyLen, valueDim])), length, 0)
  // each position with its own key: one weight, the log-sum of a + b over features
  let total: Partial = {sums: values, logScale: logSumExp(tf.add(queries, keys))}
  for (let half = 1; half < chunk; half *= 2) {
    total = add(total, pairHalves(queries, keys, values, half))
  }
  if (length > chunk) total = add(total, earlierChunks(queries, keys, values, chunk))
  const sums = tf.slice(total.sums, [0, 0, 0], [rows, queryLen, valueDim])
  const weight = tf.slice(total.sums, [0, 0, valueDim], [rows, queryLen, 1])
  const seen = sawAnyKey(tf.slice(total.logScale, [0, 0, 0], [rows, queryLen, 1]))
  return tf.reshape(tf.mul(tf.div(sums, weight), seen), [batch, heads, queryLen, valueDim])
}

/** Cuts or pads the middle axis to `length`. */
function fitLength(tensor: tf.Tensor3D, length: number, padValue: number): tf.Tensor3D {
  const [rows, current, width] = tensor.shape
  if (current > length) return tf.slice(tensor, [0, 0, 0], [rows, length, width])
  if (current === length) return tensor
  return tf.concat([tensor, tf.fill([rows, length - current, width], padValue)], 1) as tf.Tensor3D
}

/**
 * In every block of `2 half` positions, the later half attends to the earlier one. All keys of a pairing are past for
 * all its queries, so their per-feature maximum t_s leaks nothing; with it `exp(b_js - t_s) <= 1`, and
 * `exp(a_is + t_s - max_s)` is 1 for one feature of every query.
 */
function pairHalves(
  queries: tf.Tensor3D,
  keys: tf.Tensor3D,
  values: tf.Tensor3D,
  half: number,
): Partial {
  const [rows, length] = queries.shape
  const width = values.shape[2]
  const blocks = (rows * length) / (2 * half)
  const side = (tensor: tf.Tensor3D, which: 0 | 1): tf.Tensor3D => {
    const columns = tensor.shape[2]
    const split = tf.reshape(tensor, [blocks, 2, half, columns])
    return tf.reshape(tf.slice(split, [0, which, 0, 0], [blocks, 1, half, columns]), [
      blocks,
      half,
      columns,
    ])
  }
  const past = side(keys, 0)
  const top = tf.max(past, 1, true) // [blocks, 1, F]
  const keyWeights = tf.exp(tf.sub(past, top)) as tf.Tensor3D
  const {weights, logScale} = queryWeights(side(queries, 1), top as tf.Tensor3D)
  const sums = matMul(matMul(weights, keyWeights, false, true), side(values, 0))
  const before = (tensor: tf.Tensor3D, fillValue: number): tf.Tensor3D => {
    const columns = tensor.shape[2]
    const blank = tf.fill([blocks, half, columns], fillValue)
    return tf.reshape(tf.stack([blank, tensor], 1), [rows, length, columns])
  }
  return {
    sums: before(tf.reshape(sums, [blocks, half, width]), 0),
    logScale: before(logScale, MASKED),
  }
}

/** exp(a + reference - row maximum) and that maximum: `[N, l, F]` and `[N, l, 1]`. */
function queryWeights(queries: tf.Tensor3D, reference: tf.Tensor3D) {
  const logits = tf.add(queries, reference)
  const logScale = tf.max(logits, -1, true) as tf.Tensor3D
  return {weights: tf.exp(tf.sub(logits, logScale)) as tf.Tensor3D, logScale}
}

/** Every chunk attends to all chunks before it through carried sums. */
function earlierChunks(
  queries: tf.Tensor3D,
  keys: tf.Tensor3D,
  values: tf.Tensor3D,
  chunk: number,
): Partial {
  const [rows, length, featureDim] = queries.shape
  const width = values.shape[2]
  const parts: Partial[] = [
    {sums: tf.zeros([rows, chunk, width]), logScale: tf.fill([rows, chunk, 1], MASKED)},
  ]
  let top: tf.Tensor3D = tf.fill([rows, 1, featureDim], MASKED)
  let carried: tf.Tensor3D = tf.zeros([rows, featureDim, width])
  for (let start = 0; start + chunk < length; start += chunk) {
    const past = tf.slice(keys, [0, start, 0], [rows, chunk, featureDim])
    const newTop = tf.maximum(top, tf.max(past, 1, true)) as tf.Tensor3D
    // sums of a feature are relative to its largest key so far: a larger one scales them down
    const decay = tf.transpose(tf.exp(tf.sub(top, newTop)), [0, 2, 1]) // [N, F, 1]
    const weights = tf.exp(tf.sub(past, newTop)) as tf.Tensor3D
    const fresh = matMul(weights, tf.slice(values, [0, start, 0], [rows, chunk, width]), true)
    carried = tf.add(tf.mul(carried, decay), fresh)
    top = newTop
    const query = tf.slice(queries, [0, start + chunk, 0], [rows, chunk, featureDim])
    const read = queryWeights(query, top)
    parts.push({sums: matMul(read.weights, carried), logScale: read.logScale})
  }
  return {
    sums: tf.concat(
      parts.map(part => part.sums),
      1,
    ) as tf.Tensor3D,
    logScale: tf.concat(
      parts.map(part => part.logScale),
      1,
    ) as tf.Tensor3D,
  }
}

/** Two partial sums over disjoint keys on the larger of their scales: the other's factor is at most 1. */
function add(a: Partial, b: Partial): Partial {
  const logScale = tf.maximum(a.logScale, b.logScale) as tf.Tensor3D
  const sums = tf.add(
    tf.mul(a.sums, tf.exp(tf.sub(a.logScale, logScale))),
    tf.mul(b.sums, tf.exp(tf.sub(b.logScale, logScale))),
  )
  return {sums: sums as tf.Tensor3D, logScale}
}
