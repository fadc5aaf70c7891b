/** Generalised exponential features as the kernels take them, batch elements standing as further heads. */
import {tf} from '../../../tf.js'
import {causalFeatureAttention, type FeatureSpec, featureMap} from '../../kernels/index.js'
import {matMul} from '../../kernels/mat-mul.js'
import type {Decoder, KeyMask, Projection} from '../../types.js'
import {logFeatureDecoder} from '../decoders/log-features.js'
import type {DecoderInputs} from '../estimator.js'
import type {HeadParameters} from './parameters.js'
import {matrixFunction} from './symmetric.js'

/**
 * Log-features `b_s . P x + c_s - |P x|^2/2 + ln D0` of every head of every batch element; without the last
 * term, which both sides of a ratio share.
 */
export interface ExponentialFeatures {
  /** b = (I - 4A)^(1/2) w, `[B, H, M, D]` */
  bridges: tf.Tensor4D
  /** c = w.A w, `[B, H, M]` */
  logWeight: tf.Tensor3D
  /** ln D0 = ln det(I - 4A) / 4, `[B, H, 1, 1]` */
  logConstant: tf.Tensor4D
  /** P of both sides: `[B, H, 1, D]` diagonals or `[B, H, D, D]` symmetric. */
  maps?: {query: tf.Tensor4D; key: tf.Tensor4D} | undefined
}

/** Sizes of {@link HeadParameters} as tensors. */
export interface HeadSizes {
  batch: number
  heads: number
  headDim: number
}

/**
 * Bridges and weights from projection rows w and the parameters of every head, `[B H]`. Where those are numbers,
 * `headDim` may be more than the coordinates by which rows are given.
 */
export function exponentialFeatures(
  projection: Projection,
  parameters: readonly HeadParameters[],
  sizes: HeadSizes,
): ExponentialFeatures {
  const {headDim} = sizes
  const [count, columns] = projection.shape.slice(-2) as [number, number]
  const rows: tf.Tensor4D = tf.reshape(projection, [1, -1, count, columns])
  const exponent = stacked(parameters, sizes, of => valuesOf(of, a => a))
  const root = stacked(parameters, sizes, of => valuesOf(of, a => Math.sqrt(1 - 4 * a)))
  const maps = parameters[0]!.maps && {
    query: stacked(parameters, sizes, of => of.maps!.query),
    key: stacked(parameters, sizes, of => of.maps!.key),
  }
  return {
    bridges: applied(rows, root), // O(H M D) for numbers, O(H M D^2) for matrices
    logWeight: tf.sum(tf.mul(applied(rows, exponent), rows), -1),
    logConstant: stacked(parameters, sizes, of => Float64Array.of(logConstant(of, headDim))),
    ...(maps && {maps}),
  }
}

/** A function of A: one number, or a matrix. */
function valuesOf({exponent}: HeadParameters, f: (a: number) => number): Float64Array {
  return typeof exponent === 'number' ? Float64Array.of(f(exponent)) : matrixFunction(exponent, f)
}

function logConstant({exponent}: HeadParameters, headDim: number): number {
  if (typeof exponent === 'number') return (headDim / 4) * Math.log1p(-4 * exponent)
  return exponent.values.reduce((sum, a) => sum + Math.log1p(-4 * a) / 4, 0)
}

/** One array per head as a tensor: a number `[B, H, 1, 1]`, a diagonal `[B, H, 1, D]`, a matrix `[B, H, D, D]`. */
function stacked(
  parameters: readonly HeadParameters[],
  {batch, heads, headDim}: HeadSizes,
  arrayOf: (of: HeadParameters) => Float64Array,
): tf.Tensor4D {
  // a function of a matrix is O(D^3), and heads with the same parameters have the same
  const known = new Map<HeadParameters, Float64Array>()
  const arrays = parameters.map(of => {
    const array = known.get(of) ?? arrayOf(of)
    known.set(of, array)
    return array
  })
  const size = arrays[0]!.length
  const values = new Float32Array(size * arrays.length)
  arrays.forEach((array, head) => {
    values.set(array, head * size)
  })
  const [rows, columns] = size > headDim ? [headDim, headDim] : [1, size]
  return tf.tensor4d(values, [batch, heads, rows!, columns!])
}

/** `x map` for symmetric maps: rows of x `[B or 1, H or 1, n, D]` by a number, a diagonal or a matrix. */
export function applied(x: tf.Tensor4D, map: tf.Tensor4D): tf.Tensor4D {
  const [batch, heads, rows, headDim] = map.shape
  if (rows === 1) return tf.mul(x, map)
  const [ownBatch, ownHeads, length] = x.shape
  const own = batch === ownBatch && heads === ownHeads
  const all = own ? x : tf.tile(x, [batch / ownBatch, heads / ownHeads, 1, 1])
  const product = matMul(
    tf.reshape(all, [batch * heads, length, headDim]),
    tf.reshape(map, [batch * heads, headDim, headDim]),
  )
  return tf.reshape(product, [batch, heads, length, headDim])
}

/**
 * Bridges with their weights as one more column, `[B H, M, D + 1]`: with a constant as one more
 * dimension of tokens, positive features of w.x become features of w.x + c, and the square of the constant cancels.
 *
 * @param inputScale - what the constant is multiplied by with the token
 */
function weightedBridges(
  {bridges, logWeight}: Pick<ExponentialFeatures, 'bridges' | 'logWeight'>,
  inputScale: number,
): tf.Tensor3D {
  const [batch, heads, count, headDim] = bridges.shape
  // inputScale (w, c / inputScale).(x, 1) = w.(inputScale x) + c
  const column = tf.expandDims(tf.div(logWeight, inputScale), -1)
  return tf.reshape(tf.concat([bridges, column], -1), [batch * heads, count, headDim + 1])
}

/** Tokens with a one as one more dimension, `[1, B H, n, D + 1]`. */
function withOne(x: tf.Tensor4D, map: tf.Tensor4D | undefined): tf.Tensor4D {
  const [batch, heads, length, headDim] = x.shape
  const ones = tf.ones([batch, heads, length, 1])
  const extended = tf.concat([map ? applied(x, map) : x, ones], -1)
  return tf.reshape(extended, [1, batch * heads, length, headDim + 1])
}

/** Logarithms of the features themselves, times M^(1/2), of canonical x. @returns `[B, H, n, M]` */
export function logExponential(
  x: tf.Tensor4D,
  side: 'query' | 'key',
  features: ExponentialFeatures,
): tf.Tensor4D {
  const [batch, heads, length] = x.shape
  const map = features.maps?.[side]
  const logs = featureMap(withOne(x, map), weightedBridges(features, 1), 'log-positive')
  const constant = tf.add(features.logConstant, 0.5) // gives the square of the added one back
  return tf.add(tf.reshape(logs, [batch, heads, length, -1]), constant)
}

/** Tokens of both sides and what to do with them. */
export interface CausalInputs {
  query: tf.Tensor4D
  key: tf.Tensor4D
  value: tf.Tensor4D
  inputScale: number
  keyMask?: KeyMask | undefined
}

/** The causal form, `[B, H, L, Dv]`. */
export function causalExponentialAttention(
  {query, key, value, inputScale, keyMask}: CausalInputs,
  features: ExponentialFeatures,
): tf.Tensor4D {
  const [batch, heads, queryLen] = query.shape
  const [, , keyLen, valueDim] = value.shape
  const projection = weightedBridges(features, inputScale)
  const spec = (x: tf.Tensor4D): FeatureSpec => ({kind: 'log-positive', x, projection, inputScale})
  const x = withOne(query, features.maps?.query)
  const y = withOne(key, features.maps?.key)
  const values: tf.Tensor4D = tf.reshape(value, [1, batch * heads, keyLen, valueDim])
  if (!keyMask || batch === 1) {
    const out = causalFeatureAttention(spec(x), spec(y), values, keyMask)
    return tf.reshape(out, [batch, heads, queryLen, valueDim])
  }
  // batch elements stand as heads here, and heads share a mask: one call for each element
  const rows = projection.shape
  const outs = Array.from({length: batch}, (_, b) => {
    const part = (tensor: tf.Tensor4D): tf.Tensor4D =>
      tf.slice(tensor, [0, b * heads, 0, 0], [1, heads, -1, -1])
    const own = tf.slice(projection, [b * heads, 0, 0], [heads, rows[1], rows[2]])
    const mask = tf.slice(keyMask, [b, 0], [1, keyLen])
    const side = (tensor: tf.Tensor4D): FeatureSpec => ({...spec(part(tensor)), projection: own})
    return causalFeatureAttention(side(x), side(y), part(values), mask)
  })
  return tf.concat(outs, 0)
}

/** The recurrent form. The features' tensors are copied, not kept. */
export function exponentialDecoder(
  {batch, heads, headDim, valueDim, inputScale}: DecoderInputs,
  features: ExponentialFeatures,
): Decoder {
  const projection = tf.keep(weightedBridges(features, inputScale))
  const maps = features.maps && {
    query: tf.keep(tf.clone(features.maps.query)),
    key: tf.keep(tf.clone(features.maps.key)),
  }
  const recipe = {kind: 'log-positive', projection, inputScale} as const
  const rows = batch * heads
  const inner = logFeatureDecoder(
    {batch: 1, heads: rows, headDim: headDim + 1, valueDim},
    projection.shape[1],
    {query: recipe, key: recipe},
  )
  return {
    next: (query: tf.Tensor4D, key: tf.Tensor4D, value: tf.Tensor) =>
      tf.tidy(() => {
        const row: tf.Tensor4D = tf.reshape(value, [1, rows, 1, valueDim])
        const out = inner.next(withOne(query, maps?.query), withOne(key, maps?.key), row)
        return tf.reshape(out, [batch, heads, 1, valueDim])
      }),
    get stateBytes() {
      return inner.stateBytes
    },
    get state() {
      return inner.state
    },
    dispose() {
      inner.dispose()
      tf.dispose([projection, maps?.query, maps?.key].filter(tensor => tensor !== undefined))
    },
  }
}
