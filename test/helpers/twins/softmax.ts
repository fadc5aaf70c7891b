/** Attention whose weights are given by logarithms, in double precision, with bounds. */
import {ELEMENTARY, gamma, TINY, U} from '../rounding.js'
import {generalizedArguments} from './feature-builders.js'
import {CANONICAL_ROUNDINGS, canonical, project} from './projected.js'
import {emptyOutput, forEachHead, type Head, type Twin, type TwinInputs} from './types.js'

/** Log-weight of a pair and the sum of magnitudes it is made of. */
interface LogWeight {
  value: number
  magnitude: number
  /** Absolute error that the log-weight came with. Default none. */
  error?: number
}

/** Log-weights of one row over the keys it sees. */
export type RowLogWeights = (row: number) => {columns: number[]; weights: LogWeight[]}

/**
 * Output of one head from log-weights. A relative error e of every weight moves the weighted mean by
 * at most `2 e / (1 - e) sum p |v|`.
 *
 * @param relativeError - bound on the relative error of each weight of a row, from its largest magnitude and error
 */
export function logWeightRows(
  head: Head,
  rows: RowLogWeights,
  relativeError: (largest: number, error: number) => number,
  out: {value: Float64Array; error: Float64Array},
): void {
  const {queryLen, valueDim, value} = head
  for (let i = 0; i < queryLen; i++) {
    const {columns, weights} = rows(i)
    if (columns.length === 0) continue // sees no key: exactly zero
    let top = -Infinity
    let largest = 0
    let error = 0
    for (const weight of weights) {
      top = Math.max(top, weight.value)
      largest = Math.max(largest, weight.magnitude)
      error = Math.max(error, weight.error ?? 0)
    }
    const total = weights.reduce((sum, weight) => sum + Math.exp(weight.value - top), 0)
    const e = relativeError(largest, error)
    const factor = e < 1 ? (2 * e) / (1 - e) + 2 * U : Infinity
    for (let d = 0; d < valueDim; d++) {
      const at = (head.index * queryLen + i) * valueDim + d
      let magnitude = 0
      columns.forEach((j, n) => {
        const p = Math.exp(weights[n]!.value - top) / total
        out.value[at]! += p * value[j * valueDim + d]!
        magnitude += (p + TINY) * Math.abs(value[j * valueDim + d]!)
      })
      out.error[at] = factor * magnitude + TINY
    }
  }
}

/** Keys per tile of the online form, as many tiles as could be merged. */
export const SMALLEST_TILE = 1024

/**
 * Exact softmax. A logit is off by (D + 3) u of its summed magnitudes, its distance to the row's
 * maximum by 4 u more; sums over S keys add S u; every merge of tiles takes two exps, a log and
 * differences of log-sums, each at most the largest magnitude plus ln S.
 */
export const softmax: Twin = inputs => {
  const out = emptyOutput(inputs)
  forEachHead(inputs, head => {
    const x = canonical(head.query, inputs.logitScale)
    const y = canonical(head.key, inputs.logitScale)
    const {headDim, keyLen} = head
    const merges = Math.ceil(keyLen / SMALLEST_TILE)
    const rows: RowLogWeights = row => {
      const columns = Array.from({length: keyLen}, (_, j) => j).filter(j => head.sees(row, j))
      return {columns, weights: columns.map(j => dot(x, row, y, j, headDim))}
    }
    const relativeError = (largest: number) =>
      U * ((headDim + 2 * CANONICAL_ROUNDINGS + 4) * largest) +
      U * merges * 4 * (largest + Math.log(keyLen)) +
      gamma(keyLen + 4 * ELEMENTARY * (1 + merges))
    logWeightRows(head, rows, relativeError, out)
  })
  return {out}
}

function dot(x: Float64Array, i: number, y: Float64Array, j: number, dim: number): LogWeight {
  let value = 0
  let magnitude = 0
  for (let d = 0; d < dim; d++) {
    const term = x[i * dim + d]! * y[j * dim + d]!
    value += term
    magnitude += Math.abs(term)
  }
  return {value, magnitude}
}

/** Chunk of the causal form: inside it partial sums are merged in log2(chunk) + 2 steps. */
export const MERGES = 8

/**
 * Positive features in the log domain: `log w_ij = logsumexp_s(a_is + b_js)`. With R the largest
 * magnitude (|w.x| summed over dimensions, norms, and the largest of any key in view) each log-feature is off by
 * (D + 10) u R, and each of the MERGES rescalings by 2 u R. Sums run over S keys and F features;
 * the recurrent form rescales once per key: exp, difference and product.
 */
export function logPositive(signs: readonly (1 | -1)[]): Twin {
  return logFeatureTwin((head, inputs) => side => logFeatures(head, inputs.logitScale, side, signs))
}

/**
 * Positive features of rows scaled to length sqrt(D). A row's norm errs by D/2 + 1 roundings, its
 * reciprocal, the root of D and the two products by one each.
 */
export const logSphere: Twin = logFeatureTwin(
  (head, {logitScale}) =>
    side =>
      logFeatures({...head, projection: onSphere(head)}, logitScale, side, [1]),
  headDim => headDim / 2 + 5,
)

function onSphere({projection, headDim}: Pick<Head, 'projection' | 'headDim'>): Float64Array {
  return projection.map((w, at) => {
    const row = projection.subarray(at - (at % headDim), at - (at % headDim) + headDim)
    return (w * Math.sqrt(headDim)) / Math.hypot(...row)
  })
}

/** The same of features `exp(W x)` or `exp(x)`. */
export const logExponential: Twin = logFeatureTwin((head, inputs) => side => {
  const {argument, count} = generalizedArguments(head[side], head, inputs)
  // |w_s.x| summed over dimensions, the largest of a row
  const absolute = {...head, projection: head.projection.map(Math.abs)}
  const summed = generalizedArguments(head[side].map(Math.abs), absolute, inputs).argument
  const magnitude = new Float64Array(argument.length / count)
  summed.forEach((m, at) => {
    const row = Math.floor(at / count)
    magnitude[row] = Math.max(magnitude[row]!, m)
  })
  return {value: argument, magnitude, count}
})

/**
 * The same of features `softmax([x, -x])` or `[exp(x), exp(-x)]`. Entries are exact; a log-sum of 2D exponentials is off
 * by their sum and each of them, a logarithm, and the differences from the largest.
 */
export const logMirrored: Twin = logFeatureTwin(({headDim, ...head}, {options}) => side => {
  const x = head[side]
  const count = 2 * headDim
  const value = new Float64Array(2 * x.length)
  const magnitude = new Float64Array(x.length / headDim)
  const error = new Float64Array(magnitude.length)
  for (let i = 0; i < magnitude.length; i++) {
    const row = x.subarray(i * headDim, (i + 1) * headDim)
    const both = [...row, ...row.map(entry => -entry)]
    const top = Math.max(...both)
    const plain = options.nonlinearity === 'exp'
    const sum = plain ? 0 : top + Math.log(both.reduce((all, a) => all + Math.exp(a - top), 0))
    value.set(
      both.map(a => a - sum),
      i * count,
    )
    magnitude[i] = top + sum
    error[i] = 4 * U * magnitude[i]! + (plain ? 0 : gamma(count + 2 * ELEMENTARY))
  }
  return {value, magnitude, count, error}
})

/** Log-features of one side, `[rows, count]`, and per row the largest of their summed magnitudes. */
export interface LogFeatures {
  value: Float64Array
  magnitude: Float64Array
  count: number
  /** Per row the largest error of a log-feature. Default (D + 10) u of the magnitude. */
  error?: Float64Array
}

/** Attention from log-features: `log w_ij = logsumexp_s(a_is + b_js)`, with the bounds told above. */
export function logFeatureTwin(
  build: (head: Head, inputs: TwinInputs) => (side: 'query' | 'key') => LogFeatures,
  /** Further roundings of the random vectors. */
  further: (headDim: number) => number = () => 0,
): Twin {
  return inputs => {
    const out = emptyOutput(inputs)
    forEachHead(inputs, head => {
      const {headDim, keyLen} = head
      const sideOf = build(head, inputs)
      const a = sideOf('query')
      const b = sideOf('key')
      const {count} = a
      const rows: RowLogWeights = row => {
        const columns = Array.from({length: keyLen}, (_, j) => j).filter(j => head.sees(row, j))
        const largest = (of: Float64Array) => columns.reduce((max, j) => Math.max(max, of[j]!), 0)
        const magnitude = a.magnitude[row]! + largest(b.magnitude)
        const roundings = U * (headDim + 10 + further(headDim)) * (magnitude + Math.log(keyLen))
        const error = a.error && b.error ? a.error[row]! + largest(b.error) : roundings
        const weight = (j: number) => ({
          value: logSum(a.value, row, b.value, j, count),
          magnitude,
          error,
        })
        return {columns, weights: columns.map(weight)}
      }
      const relativeError = (largest: number, error: number) =>
        error +
        U * 2 * MERGES * (largest + Math.log(keyLen)) +
        gamma(count + keyLen * (ELEMENTARY + 2) + MERGES * (ELEMENTARY + 2))
      logWeightRows(head, rows, relativeError, out)
    })
    return {out}
  }
}

function logFeatures(
  head: Head,
  logitScale: number,
  side: 'query' | 'key',
  signs: readonly (1 | -1)[],
): LogFeatures {
  const x = canonical(head[side], logitScale)
  const {product, error, halfNorm, length, numFeatures} = project(x, head, CANONICAL_ROUNDINGS)
  const value = new Float64Array(length * numFeatures * signs.length)
  const magnitude = new Float64Array(length)
  const perMagnitude = (head.headDim + CANONICAL_ROUNDINGS) * U
  for (let i = 0; i < length; i++) {
    for (let s = 0; s < numFeatures; s++) {
      const from = i * numFeatures + s
      signs.forEach((sign, n) => {
        const to = (i * signs.length + n) * numFeatures + s
        value[to] = sign * product[from]! - halfNorm[i]!
      })
      const summed = error[from]! / perMagnitude + halfNorm[i]!
      magnitude[i] = Math.max(magnitude[i]!, summed)
    }
  }
  return {value, magnitude, count: numFeatures * signs.length}
}

export function logSum(
  a: Float64Array,
  i: number,
  b: Float64Array,
  j: number,
  count: number,
): number {
  const atA = i * count
  const atB = j * count
  let top = -Infinity
  for (let s = 0; s < count; s++) {
    const term = a[atA + s]! + b[atB + s]!
    if (term > top) top = term
  }
  let sum = 0
  for (let s = 0; s < count; s++) sum += Math.exp(a[atA + s]! + b[atB + s]! - top)
  return top + Math.log(sum)
}
