/** Statistics of queries and keys that data-dependent features are set by, and where they come from. */
import {tf} from '../../../tf.js'
import {hostData} from '../../host-data.js'
import {headMask} from '../../kernels/masking.js'
import {matMul} from '../../kernels/mat-mul.js'
import type {Calibration, KeyMask} from '../../types.js'
import type {AttendInputs} from '../estimator.js'

/** Tokens that statistics are taken from. */
export interface Sample extends Calibration {
  /** `[B, n]`, which of the keys count. */
  keyMask?: KeyMask | undefined
}

/** Moments of the canonical queries x and keys y of one head, in double precision. */
export interface HeadMoments {
  /** mean x and mean y, `[D]` */
  mean: Sides
  /** mean x_d^2 and mean y_d^2, `[D]` */
  squares: Sides
  /** mean x x^T and mean y y^T, `[D, D]`; empty where they were not asked for. */
  outer: Sides
}

/** One array for queries, one for keys. */
export interface Sides {
  query: Float64Array
  key: Float64Array
}

/** Which moments are needed: none, those of single dimensions, or matrices too. */
export type MomentKind = 'none' | 'diagonal' | 'full'

/**
 * The tokens that set the features of a call: `calibration`, or the call's own; a causal call takes
 * the first `prefix` of its queries and of its keys (0: all).
 */
export function sampleOf(inputs: AttendInputs<{prefix: number}>): Sample {
  const {key, keyMask, causal, calibration, options} = inputs
  if (calibration) return calibration
  const query = tokensOf(inputs)
  if (!causal || options.prefix === 0) return {query, key, keyMask}
  const first = (tokens: tf.Tensor4D): tf.Tensor4D => {
    const [batch, heads, length, headDim] = tokens.shape
    const kept = Math.min(options.prefix, length)
    return tf.slice(tokens, [0, 0, 0, 0], [batch, heads, kept, headDim])
  }
  // rows before the end of the prefix see keys beyond their own in these numbers alone
  const [batch, keyLen] = [key.shape[0], Math.min(options.prefix, key.shape[2])]
  return {
    query: first(query),
    key: first(key),
    keyMask: keyMask && tf.slice(keyMask, [0, 0], [batch, keyLen]),
  }
}

/** Queries without blank ones. */
function tokensOf({query, blankQueries = 0}: AttendInputs): tf.Tensor4D {
  const [batch, heads, length, headDim] = query.shape
  if (blankQueries === 0) return query
  return tf.slice(query, [0, 0, blankQueries, 0], [batch, heads, length - blankQueries, headDim])
}

/**
 * Moments of every head, `[B H]`. They are read back to the host: gradients take them as constants.
 *
 * @param scale - takes raw tokens to canonical ones
 */
export function momentsOf(
  {query, key, keyMask}: Sample,
  scale: number,
  kind: MomentKind,
): HeadMoments[] {
  const [batch, heads, , headDim] = query.shape
  if (kind === 'none') return Array.from({length: batch * heads}, () => noMoments(headDim))
  const sides = {
    query: sideMoments(query, undefined, scale, kind),
    key: sideMoments(key, keyMask, scale, kind),
  }
  return Array.from({length: batch * heads}, (_, head) => {
    const of = (name: keyof SideMoments): Sides => {
      const part = (all: Float64Array) => {
        const size = all.length / (batch * heads)
        return all.subarray(head * size, (head + 1) * size)
      }
      return {query: part(sides.query[name]), key: part(sides.key[name])}
    }
    return {mean: of('mean'), squares: of('squares'), outer: of('outer')}
  })
}

function noMoments(headDim: number): HeadMoments {
  const zeros = () => ({query: new Float64Array(headDim), key: new Float64Array(headDim)})
  const empty = {query: new Float64Array(0), key: new Float64Array(0)}
  return {mean: zeros(), squares: zeros(), outer: empty}
}

/** Of all heads, one after the other. */
interface SideMoments {
  mean: Float64Array
  squares: Float64Array
  outer: Float64Array
}

function sideMoments(
  x: tf.Tensor4D,
  mask: KeyMask | undefined,
  scale: number,
  kind: MomentKind,
): SideMoments {
  const {mean, squares, outer} = hostData(() => {
    const [batch, heads, length, headDim] = x.shape
    const tokens: tf.Tensor3D = tf.reshape(x, [batch * heads, length, headDim])
    // means as sums of weighted tokens: absent ones weigh nothing
    const weighted = tf.mul(tokens, tokenWeights(mask, [batch, heads, length])) as tf.Tensor3D
    // sums over tokens as products: reductions over an axis within go through a transposed copy
    const ones: tf.Tensor3D = tf.ones([batch * heads, 1, length])
    return {
      mean: matMul(ones, weighted),
      squares: matMul(ones, tf.mul(weighted, tokens)),
      outer: kind === 'full' ? matMul(weighted, tokens, true) : undefined,
    }
  })
  const times = (values: tf.TypedArray | undefined, factor: number) =>
    Float64Array.from(values ?? [], value => value * factor)
  return {
    mean: times(mean, scale),
    squares: times(squares, scale ** 2),
    outer: times(outer, scale ** 2),
  }
}

/** One over the number of present tokens, zero for absent ones: `[1, 1, 1]` or `[B H, n, 1]`. */
function tokenWeights(
  mask: KeyMask | undefined,
  [batch, heads, length]: [number, number, number],
): tf.Tensor3D {
  if (!mask) return tf.fill([1, 1, 1], 1 / length)
  const present: tf.Tensor3D = tf.reshape(headMask(mask, heads), [batch * heads, length, 1])
  return tf.div(present, tf.maximum(tf.sum(present, 1, true), 1))
}
