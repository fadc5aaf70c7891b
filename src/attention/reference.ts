/**
 * The judge: exact attention in plain double-precision loops, one row at a time, for every kernel
 * that an estimator converges to. No backend, no tensors.
 */
import {logSphereMean} from '../theory/sphere.js'
import type {ExactTarget} from './types.js'

/** An array on the host, `[B, H, L, D]`, row-major. */
export interface HostArray {
  shape: readonly [number, number, number, number]
  data: Float32Array | Float64Array
}

/** What {@link forEachExactRow} needs beside the arrays. */
export interface ExactOptions {
  target: ExactTarget
  /** beta of canonical inputs. */
  logitScale: number
  causal: boolean
}

/** Visits every row of exact attention weights, normalised; `weights` is reused between rows. */
export function forEachExactRow(
  query: HostArray,
  key: HostArray,
  {target, logitScale, causal}: ExactOptions,
  visit: (row: number, head: number, weights: Float64Array) => void,
): void {
  const [batch, heads, queryLen, dim] = query.shape
  const keyLen = key.shape[2]
  const buffer = new Float64Array(keyLen)
  for (let head = 0; head < batch * heads; head++) {
    const shared = target.inputs === 'shared'
    const x = targetInputs(query, head, target, logitScale)
    const y = shared
      ? targetInputs(query, head, {...target, inputs: 'unit'}, logitScale)
      : targetInputs(key, head, target, logitScale)
    for (let row = 0; row < queryLen; row++) {
      const count = causal ? Math.min(row + 1, keyLen) : keyLen
      const weights = buffer.subarray(0, count)
      const hidden = target.excludesSelf && count > 1 ? row : -1
      kernelRow(weights, x.subarray(row * dim, (row + 1) * dim), y, target, hidden)
      visit(row, head, weights)
    }
  }
}

/**
 * Exact attention output.
 *
 * @param query - `[B, H, L, D]`, raw
 * @param key - `[B, H, S, D]`, raw
 * @param value - `[B, H, S, Dv]`
 * @returns `[B, H, L, Dv]`, double precision
 */
export function exactAttention(
  query: HostArray,
  key: HostArray,
  value: HostArray,
  options: ExactOptions,
): Float64Array {
  const [batch, heads, queryLen] = query.shape
  const [, , keyLen, valueDim] = value.shape
  const out = new Float64Array(batch * heads * queryLen * valueDim)
  forEachExactRow(query, key, options, (row, head, weights) => {
    const target = out.subarray((head * queryLen + row) * valueDim).subarray(0, valueDim)
    for (let j = 0; j < weights.length; j++) {
      const weight = weights[j]!
      const base = (head * keyLen + j) * valueDim
      for (let d = 0; d < valueDim; d++) target[d]! += weight * value.data[base + d]!
    }
  })
  return out
}

/** Multiply-adds of {@link exactAttention}. */
export function exactWork(query: HostArray, value: HostArray): number {
  const [batch, heads, queryLen, dim] = query.shape
  return batch * heads * queryLen * value.shape[2] * (dim + value.shape[3])
}

/** One head's vectors in the target's own space: canonical or unit, times the target's scale. */
function targetInputs(
  array: HostArray,
  head: number,
  {inputs, inputScale, normEpsilon = 0, dimensionScale}: ExactTarget,
  logitScale: number,
): Float64Array {
  const [, heads, length, dim] = array.shape
  const scaleAt = (head % heads) * dim
  const vectors = Float64Array.from(
    array.data.subarray(head * length * dim, (head + 1) * length * dim),
  )
  const space = {canonical: Math.sqrt(logitScale), shared: logitScale, unit: 1, raw: 1}
  const common = inputScale * space[inputs]
  for (let row = 0; row < length; row++) {
    const vector = vectors.subarray(row * dim, (row + 1) * dim)
    const factor = inputs === 'unit' ? common / (norm(vector) + normEpsilon || 1) : common
    for (let d = 0; d < dim; d++) vector[d]! *= factor * (dimensionScale?.[scaleAt + d] ?? 1)
  }
  return vectors
}

/** Normalised weights of one query over `weights.length` keys but the hidden one. */
function kernelRow(
  weights: Float64Array,
  x: Float64Array,
  y: Float64Array,
  {kernel, constant = 0}: ExactTarget,
  hidden: number,
): void {
  const dim = x.length
  // the kernel over what cancels: nothing of exp(x.y), exp(-|x|^2/2) of the Gaussian one
  const logConstant = Math.log(constant) + (kernel === 'gaussian' ? norm(x) ** 2 / 2 : 0)
  let top = logConstant
  for (let j = 0; j < weights.length; j++) {
    const base = j * dim
    let dot = 0
    for (let d = 0; d < dim; d++) dot += x[d]! * y[base + d]!
    if (kernel === 'arc-cosine') dot = arcCosine(dot, norm(x), norm(y.subarray(base, base + dim)))
    // |x|^2/2 cancels
    if (kernel === 'gaussian') dot -= norm(y.subarray(base, base + dim)) ** 2 / 2
    if (kernel === 'exponential') dot += norm(y.subarray(base, base + dim)) ** 2 / 2
    if (kernel === 'smreg') dot = logSmreg(x, y.subarray(base, base + dim), dot)
    if (j === hidden) dot = -Infinity
    weights[j] = dot
    if (dot > top) top = dot
  }
  let total = 0
  for (let j = 0; j < weights.length; j++) {
    const logWeight = weights[j]!
    let weight = kernel === 'arc-cosine' ? logWeight : Math.exp(logWeight - top)
    if (constant > 0 && j !== hidden) weight += Math.exp(logConstant - top)
    weights[j] = weight
    total += weight
  }
  if (total === 0) return
  for (let j = 0; j < weights.length; j++) weights[j]! /= total
}

/** Logarithm of the regularised softmax kernel but for |x|^2/2, which cancels. */
function logSmreg(x: Float64Array, y: Float64Array, dot: number): number {
  const keyNorm = norm(y) ** 2
  return logSphereMean(x.length, norm(x) ** 2 + keyNorm + 2 * dot) - keyNorm / 2
}

/** Order-1 arc-cosine kernel from an inner product and two lengths. */
function arcCosine(dot: number, xLength: number, yLength: number): number {
  const lengths = xLength * yLength
  if (lengths === 0) return 0
  const cosine = Math.max(-1, Math.min(1, dot / lengths))
  const angle = Math.acos(cosine)
  return lengths * (Math.sin(angle) + (Math.PI - angle) * cosine)
}

function norm(vector: Float64Array): number {
  let sum = 0
  for (let d = 0; d < vector.length; d++) sum += vector[d]! * vector[d]!
  return Math.sqrt(sum)
}
