/** Efficient attention in double precision, with bounds. */
import {ELEMENTARY, gamma, maxAbs, TINY, U} from '../rounding.js'
import {logSum, logWeightRows, MERGES, type RowLogWeights, SMALLEST_TILE} from './softmax.js'
import {emptyOutput, forEachHead, type Head, type Twin, type TwinInputs} from './types.js'
import {explicitTwin, type FeatureBuilder, features} from './weighted.js'

/** Merges of two log-sums in a running log-sum-exp over `rows` rows: inside a chunk, over chunks, both. */
function scanMerges(rows: number): number {
  return Math.ceil(Math.log2(Math.max(2, rows))) + 2
}

/**
 * Weights by logarithm, `log sum_s exp(q_is + k_js - n_is)`, with n the log-sums that normalise channels.
 * Inputs are exact; R, the largest |q| + |k| + ln S, bounds every logarithm met. Bidirectional: the two
 * softmaxes are off by (D + 10) u R (the unit vectors enter as a product over D terms) and 4 u R per merge
 * of tiles of keys. Causal: MERGES rescalings of 2 u R, and in the scan over keys 3 roundings of R, two
 * exps, a sum and a log per merge. Sums run over D channels and S keys; the recurrent form rescales
 * once per key.
 */
const logarithmic: Twin = inputs => {
  const out = emptyOutput(inputs)
  forEachHead(inputs, head => {
    const {headDim, keyLen} = head
    const merges = Math.ceil(keyLen / SMALLEST_TILE)
    const scans = scanMerges(keyLen)
    const relativeError = (largest: number) => {
      const reach = largest + Math.log(keyLen)
      return inputs.causal
        ? U * (10 + 2 * MERGES + 3 * scans) * reach +
            gamma(headDim + (keyLen + MERGES) * (ELEMENTARY + 2) + scans * (3 * ELEMENTARY + 1))
        : U * (headDim + 10 + 4 * merges) * reach +
            gamma(headDim + keyLen + 4 * ELEMENTARY * (1 + merges))
    }
    logWeightRows(head, rowsOf(head, inputs), relativeError, out)
  })
  return scaledByQuery(inputs, out)
}

function rowsOf(head: Head, {causal, options}: TwinInputs): RowLogWeights {
  const {query, key, keyLen, headDim} = head
  const joint = causal && options.causalNormalizer === 'joint'
  return row => {
    const columns = Array.from({length: keyLen}, (_, j) => j).filter(j => head.sees(row, j))
    const plain = query.subarray(row * headDim, (row + 1) * headDim)
    let largest = 0
    for (const j of columns) {
      largest = Math.max(largest, maxAbs(key.subarray(j * headDim, (j + 1) * headDim)))
    }
    const magnitude = maxAbs(plain) + largest
    const own = joint ? plain : plain.map((x, s) => x - channelSum(head, columns, s))
    return {
      columns,
      weights: columns.map(j => ({value: logSum(own, 0, key, j, headDim), magnitude})),
    }
  }
}

/** log sum_j exp(k_js) over the given keys. */
function channelSum({key, headDim}: Head, columns: readonly number[], s: number): number {
  const logits = columns.map(j => key[j * headDim + s]!)
  const top = Math.max(...logits)
  return top + Math.log(logits.reduce((sum, x) => sum + Math.exp(x - top), 0))
}

/** The factor on bidirectional rows: two roundings. */
function scaledByQuery({query, causal, options}: TwinInputs, out: ReturnType<typeof emptyOutput>) {
  if (causal || options.queryScale === 'none') return {out}
  const scale = query.shape[3] ** -0.5
  out.value.forEach((value, at) => {
    out.error[at] = scale * (out.error[at]! + 3 * U * Math.abs(value))
    out.value[at] = scale * value
  })
  return {out}
}

/** `softmax(q)`, scaled, and `exp(k)`. */
const exponentials: FeatureBuilder = (head, {options}) => {
  const {query, key, headDim, queryLen, keyLen} = head
  const out = {query: features(queryLen, headDim), key: features(keyLen, headDim)}
  const scale = options.queryScale === 'none' ? 1 : headDim ** -0.5
  for (let i = 0; i < queryLen; i++) {
    const row = query.subarray(i * headDim, (i + 1) * headDim)
    const top = row.reduce((a, b) => Math.max(a, b), -Infinity)
    const total = row.reduce((sum, x) => sum + Math.exp(x - top), 0)
    // exponents off by 2 u |x|, numerator and denominator alike; D terms; scale and quotient
    const relative = gamma(headDim + 2 * ELEMENTARY + 4) + 4 * U * maxAbs(row)
    row.forEach((x, s) => {
      const value = (scale * Math.exp(x - top)) / total
      out.query.value[i * headDim + s] = value
      out.query.error[i * headDim + s] = relative * value + TINY
    })
  }
  key.forEach((x, at) => {
    out.key.value[at] = Math.exp(x)
    out.key.error[at] = ELEMENTARY * U * Math.exp(x) + TINY
  })
  return out
}

const explicit = explicitTwin(exponentials)

export const efficient: Twin = given => {
  const {options, causal} = given
  const bucket = Number(options.bucket)
  const past = bucket > 1 ? (i: number, j: number) => j < i - (i % bucket) : undefined
  const inputs = {...given, past}
  const guarded = options.causalDenGuard !== 'none' || options.normalizerEpsilon !== 0
  return causal && options.causalNormalizer === 'joint' && guarded
    ? explicit(inputs)
    : logarithmic(inputs)
}
