import {tf} from '../../tf.js'
import {truncatedGeometric} from '../../theory/maclaurin.js'
import {hostData} from '../host-data.js'
import {halfSquaredNorm, project} from '../kernels/feature-map.js'
import type {ScaledFeatures} from './decoders/tokens.js'

/** Which random vectors a drawn set of products takes, features in the order of falling degree. */
export type MaclaurinPlan = {
  /** Sign vectors of all factors, first those of every first factor: `[H, R, D]`. */
  rows: tf.Tensor3D
  /**
   * Factors of equal place, from the first on: how many features have room for it, and 1 where the
   * head's feature has it, `[1, H, 1, count]`. Heads differ, so some room is empty.
   */
  levels: {count: number; active: tf.Tensor4D}[]
  /** Degree less the highest of the head, `[1, H, 1, M]`. */
  deficit: tf.Tensor4D
  /** The highest degree of each head, `[1, H, 1]`. */
  highest: tf.Tensor3D
  /** `M^(-1/2) sqrt(1 / (N! p_N))`, `[1, H, 1, M]`. */
  coefficients: tf.Tensor4D
}

/** Random arrays of {@link maclaurinPlan}. */
export interface MaclaurinDraw {
  /** Uniform, `[1, H, M, 1]`: decides each feature's degree. */
  degrees: tf.Tensor4D
  /** Signs, `[1, H, M, maxDegree D]`: the vectors of each feature's factors. */
  signs: tf.Tensor4D
}

/**
 * Sorts out a draw, so that only vectors that are used are multiplied: about M in all instead of
 * M maxDegree. Reads the draw back from the backend.
 */
export function maclaurinPlan({degrees, signs}: MaclaurinDraw, maxDegree: number): MaclaurinPlan {
  const [, heads, numFeatures] = degrees.shape
  const headDim = signs.shape[3] / maxDegree
  const law = truncatedGeometric(maxDegree)
  const {uniform, vectors} = hostData(() => ({uniform: degrees, vectors: signs}))
  const orders = byDegree(Array.from(uniform, law.quantile), heads)
  const levels = levelsOf(orders)
  const indices = orders.flatMap((own, head) =>
    levels.flatMap(({count}, place) =>
      own.slice(0, count).map(f => (head * numFeatures + f.feature) * maxDegree + place),
    ),
  )
  const used = new Float32Array(indices.length * headDim)
  indices.forEach((row, at) => {
    used.set(vectors.subarray(row * headDim, (row + 1) * headDim), at * headDim)
  })
  const perFeature = (of: (degree: number, highest: number) => number): tf.Tensor4D => {
    const values = orders.flatMap(own => own.map(({degree}) => of(degree, own[0]!.degree)))
    return tf.tensor4d(values, [1, heads, 1, numFeatures])
  }
  return {
    rows: tf.tensor3d(used, [heads, indices.length / heads, headDim]),
    levels,
    deficit: perFeature((degree, highest) => degree - highest),
    highest: tf.tensor3d(
      orders.map(own => own[0]!.degree),
      [1, heads, 1],
    ),
    coefficients: perFeature(degree => Math.sqrt(law.weight(degree) / numFeatures)),
  }
}

/** Features of one head, highest degree first. */
type Order = {degree: number; feature: number}[]

/** The orders of all heads from degrees `[H, M]`. */
function byDegree(degrees: readonly number[], heads: number): Order[] {
  const numFeatures = degrees.length / heads
  return Array.from({length: heads}, (_, head) =>
    degrees
      .slice(head * numFeatures, (head + 1) * numFeatures)
      .map((degree, feature) => ({degree, feature}))
      .sort((a, b) => b.degree - a.degree),
  )
}

function levelsOf(orders: readonly Order[]): MaclaurinPlan['levels'] {
  const length = Math.max(...orders.map(own => own[0]!.degree))
  return Array.from({length}, (_, place) => {
    const count = Math.max(...orders.map(own => own.filter(f => f.degree > place).length))
    const active = orders.flatMap(own => own.slice(0, count).map(f => (f.degree > place ? 1 : 0)))
    return {count, active: tf.tensor4d(active, [1, orders.length, 1, count])}
  })
}

/**
 * Random Maclaurin features: `coefficient_i prod_{j <= N_i} (w_ij.x)`, the w_ij vectors of signs.
 *
 * Vectors longer than 1 are divided by their length; its N-th power, relative to that of the head's highest
 * degree, is multiplied on again, so products of many factors overflow for no norm.
 *
 * @param x - canonical, `[B, H, n, D]`
 * @returns F = M
 *
 * Source: Kar & Karnick 2012, arXiv:1201.6530, algorithm 1.
 */
export function maclaurin(x: tf.Tensor4D, plan: MaclaurinPlan): ScaledFeatures {
  const [batch, heads, length] = x.shape
  const squared = tf.maximum(tf.mul(tf.expandDims(halfSquaredNorm(x), -1), 2), 1) // [B, H, n, 1]
  const logLength = tf.mul(tf.log(squared), 0.5)
  // of vectors of at most unit length, so that N factors of size D^(1/2) at most are multiplied
  const products = factorProducts(tf.div(x, tf.sqrt(squared)), plan)
  const powers = tf.exp(tf.mul(logLength, plan.deficit)) // |x|^(N - highest), at most 1
  return {
    features: tf.mul(tf.mul(products, plan.coefficients), powers),
    logScale: tf.mul(tf.reshape(logLength, [batch, heads, length]), plan.highest),
  }
}

/** `prod_j w_ij.x` of every feature, `[B, H, n, M]`: from the last factors, which few have, to the first. */
function factorProducts(x: tf.Tensor4D, {rows, levels, coefficients}: MaclaurinPlan): tf.Tensor4D {
  const [batch, heads, length] = x.shape
  const ones = (count: number): tf.Tensor4D => tf.ones([batch, heads, length, count])
  const widened = (product: tf.Tensor4D, count: number): tf.Tensor4D =>
    product.shape[3] === count ? product : tf.concat([product, ones(count - product.shape[3])], 3)
  const numFeatures = coefficients.shape[3]
  if (levels.length === 0) return ones(numFeatures)
  const projected = project(x, rows)
  let product: tf.Tensor4D | undefined
  let end = projected.shape[3]
  for (const {count, active} of levels.toReversed()) {
    end -= count
    const plain = tf.slice(projected, [0, 0, 0, end], [batch, heads, length, count])
    const factor = tf.add(tf.mul(plain, active), tf.sub(1, active)) as tf.Tensor4D
    product = product ? tf.mul(widened(product, count), factor) : factor
  }
  return widened(product!, numFeatures)
}
