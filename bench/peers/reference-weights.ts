/** Attention weights of one head in double precision, with what float32 may do to each. */
import type {PeerMethod} from './cases.js'

/** What a peer computes otherwise than the textbook, which is held against the same done otherwise. */
export interface Departures {
  /** Added to every positive feature, behind stabilisers by the largest logit of a query and of a head's keys. */
  featureEpsilon?: number
  /** Added to the sums of key features. */
  normalizerEpsilon?: number
  /** Added to denominators. */
  denominatorEpsilon?: number
}

/** Arrays of one head: the queries that are judged `[n, D]`, keys and values `[S, D]`, rows `[M, D]`. */
export interface Head {
  dim: number
  query: Float32Array
  key: Float32Array
  value: Float32Array
  projection: Float32Array
}

/** Weights of keys 0, 1, ... for one query: `out = sum_j weights_j v_j / normalizer`. */
export interface WeightRow {
  weights: Float64Array
  /** Bounds on the rounding of each. */
  errors: Float64Array
  /** Bounds on the sum of magnitudes that each is made of. */
  magnitudes: Float64Array
  /** What the sum of the weights is divided by as well: added to it, or in its place. */
  added: number
  fixed?: number
}

export type RowOf = (query: number, keys: number) => WeightRow

/** Unit roundoff of float32. */
export const U = 2 ** -24
/** Of an exponential, sine or cosine, relative to the larger of 1 and itself: fast vector forms are within 20 units. */
const FUNCTION_ERROR = 32 * U

/** Features of tokens, `[count, F]`, and bounds on the error of each token's: relative or absolute. */
interface Features {
  values: Float64Array
  size: number
  relative(token: number): number
  absolute: number
}

/** What features are made of. */
interface Tokens extends Head {
  which: 'query' | 'key'
  /** M */
  rows: number
}

/** The rows of weights of a head. @param rows - M that the method takes from the projection */
export function weightRows(
  {method, causal, rows}: {method: PeerMethod; causal: boolean; rows: number},
  head: Head,
  departs: Departures,
): RowOf {
  if (method === 'softmax') return softmaxRows(head)
  if (method === 'efficient') return efficientRows(head, causal)
  const map = {'favor-pos': positive, rfa: trigonometric, elu: eluPlusOne}[method]
  const of = (which: 'query' | 'key') => map({...head, which, rows}, departs)
  return featureRows(of('query'), of('key'), departs)
}

function softmaxRows({dim, query, key}: Head): RowOf {
  const scale = dim ** -0.5
  return (i, keys) => {
    const [logits, sizes] = [new Float64Array(keys), new Float64Array(keys)]
    for (let j = 0; j < keys; j++) {
      let [sum, size] = [0, 0]
      for (let d = 0; d < dim; d++) {
        const product = query[i * dim + d]! * key[j * dim + d]! * scale
        sum += product
        size += Math.abs(product)
      }
      logits[j] = sum
      sizes[j] = size
    }
    const top = logits.reduce((a, b) => Math.max(a, b))
    const weights = logits.map(logit => Math.exp(logit - top))
    // of the products, of the difference, of the exponential
    const errors = weights.map(
      (weight, j) => weight * ((dim + 2) * U * sizes[j]! + 2 * U * Math.abs(top) + FUNCTION_ERROR),
    )
    return {weights, errors, magnitudes: weights, added: 0}
  }
}

/** `a_ij = phi(q_i).phi(k_j)`. */
function featureRows(query: Features, key: Features, departs: Departures): RowOf {
  const {size} = query
  return (i, keys) => {
    const row = query.values.subarray(i * size, (i + 1) * size)
    const [weights, errors, magnitudes] = [0, 0, 0].map(() => new Float64Array(keys)) as Triple
    const ofQuery = row.reduce((sum, feature) => sum + Math.abs(feature), 0)
    for (let j = 0; j < keys; j++) {
      let [sum, magnitude, ofKey] = [0, 0, 0]
      for (let f = 0; f < size; f++) {
        const feature = key.values[j * size + f]!
        const product = row[f]! * feature
        sum += product
        magnitude += Math.abs(product)
        ofKey += Math.abs(feature)
      }
      weights[j] = sum
      magnitudes[j] = magnitude
      errors[j] =
        (query.relative(i) + key.relative(j) + size * U) * magnitude +
        query.absolute * (ofQuery + ofKey + size * query.absolute)
    }
    const {normalizerEpsilon = 0, denominatorEpsilon = 0} = departs
    return {weights, errors, magnitudes, added: normalizerEpsilon * ofQuery + denominatorEpsilon}
  }
}

type Triple = [Float64Array, Float64Array, Float64Array]

/** `M^(-1/2) exp(w.x - |x|^2 / 2)` of canonical x. */
function positive(tokens: Tokens, {featureEpsilon}: Departures): Features {
  const {dim, rows, which} = tokens
  const {logits, norms, longest} = projected(tokens, dim ** -0.25)
  const tops = new Float64Array(norms.length)
  if (featureEpsilon !== undefined) {
    tops.forEach((_, t) => {
      tops[t] = logits.subarray(t * rows, (t + 1) * rows).reduce((a, b) => Math.max(a, b))
    })
    if (which === 'key') tops.fill(tops.reduce((a, b) => Math.max(a, b)))
  }
  const epsilon = featureEpsilon ?? 0
  const values = logits.map((logit, at) => {
    const t = Math.floor(at / rows)
    return rows ** -0.5 * (Math.exp(logit - norms[t]! ** 2 / 2 - tops[t]!) + epsilon)
  })
  // products of row and token, of the token with itself; three differences of such numbers
  const relative = (t: number) => {
    const [logit, half] = [longest * norms[t]!, norms[t]! ** 2 / 2]
    return (dim + 2) * U * (logit + half) + 3 * U * (2 * logit + half) + FUNCTION_ERROR
  }
  return {values, size: rows, relative, absolute: 0}
}

/** `[sin w.x, cos w.x]` of x over its length. */
function trigonometric(tokens: Tokens): Features {
  const {dim, rows} = tokens
  const {logits, norms, longest} = projected(tokens, 1)
  const values = new Float64Array(2 * logits.length)
  logits.forEach((logit, at) => {
    const t = Math.floor(at / rows)
    const angle = logit / norms[t]!
    const place = 2 * t * rows + (at % rows)
    values[place] = Math.sin(angle)
    values[place + rows] = Math.cos(angle)
  })
  // products, the length (a sum and its root), and the quotient move the angle
  const absolute = (2 * dim + 6) * U * longest + FUNCTION_ERROR
  return {values, size: 2 * rows, relative: () => 0, absolute}
}

/** `elu(x) + 1`, which is 1 + expm1(x) below zero: an absolute error there. */
function eluPlusOne({dim, which, ...arrays}: Tokens): Features {
  const values = Float64Array.from(arrays[which], x => (x > 0 ? x + 1 : Math.exp(x)))
  return {values, size: dim, relative: () => U, absolute: FUNCTION_ERROR}
}

/** `w.x` times a scale `[count, rows]`, the scaled lengths of tokens, and the length of the longest row. */
function projected({dim, projection, rows, which, ...arrays}: Tokens, scale: number) {
  const tokens = arrays[which]
  const length = tokens.length / dim
  const logits = new Float64Array(length * rows)
  const norms = new Float64Array(length)
  for (let t = 0; t < length; t++) {
    const token = Float64Array.from(tokens.subarray(t * dim, (t + 1) * dim), x => scale * x)
    norms[t] = Math.hypot(...token)
    for (let m = 0; m < rows; m++) {
      let sum = 0
      for (let d = 0; d < dim; d++) sum += token[d]! * projection[m * dim + d]!
      logits[t * rows + m] = sum
    }
  }
  const lengths = Array.from({length: rows}, (_, m) =>
    Math.hypot(...projection.subarray(m * dim, (m + 1) * dim)),
  )
  return {logits, norms, longest: Math.max(...lengths)}
}

/**
 * softmax of queries over channels, times D^-1/2, of keys over tokens; causal: one denominator for all channels. No
 * denominator here is near the 1e-3 that the package raises them to.
 */
function efficientRows({dim, query, key}: Head, causal: boolean): RowOf {
  const exps = Float64Array.from(key, Math.exp)
  const sums = new Float64Array(dim)
  exps.forEach((value, at) => {
    sums[at % dim]! += value
  })
  return (i, keys) => {
    const row = Float64Array.from(query.subarray(i * dim, (i + 1) * dim), Math.exp)
    const total = row.reduce((a, b) => a + b)
    const weights = new Float64Array(keys)
    for (let j = 0; j < keys; j++) {
      for (let d = 0; d < dim; d++) {
        const factor = causal ? 1 : sums[d]!
        weights[j]! += ((row[d]! / total) * dim ** -0.5 * exps[j * dim + d]!) / factor
      }
    }
    // both exponentials with their differences from a maximum, the sums that divide them, the product
    const relative =
      2 * FUNCTION_ERROR + 40 * U + ((causal ? 0 : key.length / dim) + 2 * dim + 4) * U
    const errors = weights.map(weight => weight * relative)
    return {weights, errors, magnitudes: weights, added: 0, ...(causal ? {} : {fixed: 1})}
  }
}
