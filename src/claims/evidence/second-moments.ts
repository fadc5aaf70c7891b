/** Second moments of exponential features on given tokens: what a dense exponent gains on one number for all axes. */
import {symmetricEigen} from '../../attention/internal.js'
import type {AttentionInput} from '../../inputs/attention-input.js'
import {type Estimate, studentTest} from '../../stats/index.js'
import {logSecondMoment, optimalExponent} from '../../theory/exponential.js'

/** Canonical tokens of one head, `[L, D]` row-major. */
interface HeadTokens {
  query: Float64Array
  key: Float64Array
  headDim: number
}

/** Canonical queries and keys of all heads of the first sequence, which has the same number of queries and keys. */
export function canonicalHeads({query, key, logitScale}: AttentionInput): HeadTokens[] {
  const [, heads, length, headDim] = query.shape
  const factor = Math.sqrt(logitScale ?? headDim ** -0.5)
  return Array.from({length: heads}, (_, head) => {
    const scaledRows = (data: Float32Array) =>
      Float64Array.from(
        data.subarray(head * length * headDim, (head + 1) * length * headDim),
        x => x * factor,
      )
    return {query: scaledRows(query.data), key: scaledRows(key.data), headDim}
  })
}

/**
 * Mean over all pairs of a query and a key of ln E[(phi(x) phi(y))^2] - 2 x.y with one exponent for all axes (OPRF, GERF),
 * less the same with the best symmetric matrix (SDERF), each the best for these very tokens; in nats, never negative.
 *
 * The second moment of a pair is linear in the squares of x + y along the axes, so that the mean over pairs is one over
 * tokens but for the product of their means; the interval is Student's t over tokens, those means and the exponents
 * fixed. Tokens of one text are not independent: it says how far single tokens carry the number, no more.
 */
export function denseGain({query, key, headDim}: HeadTokens): Estimate {
  const length = query.length / headDim
  const [xMean, yMean] = [columnMeans(query, headDim), columnMeans(key, headDim)]
  const pairs = pairMatrix({query, key, headDim}, xMean, yMean)
  const {values, vectors} = symmetricEigen(pairs)
  const single = optimalExponent(values.reduce((sum, value) => sum + value, 0) / headDim)
  const exponents = values.map(value => optimalExponent(Math.max(0, value)))
  // ln of a second moment is a constant and a sum of squares times these
  const constant = values.reduce(
    (sum, _, l) => sum + logSecondMoment(single, 1, 0) - logSecondMoment(exponents[l]!, 1, 0),
    0,
  )
  const perSquare = (a: number) => logSecondMoment(a, 1, 1) - logSecondMoment(a, 1, 0)
  const weights = exponents.map(a => perSquare(single) - perSquare(a))
  const [xAxes, yAxes] = [xMean, yMean].map(vector => along(vector, vectors))
  const tokens = Float64Array.from({length}, (_, token) => {
    const [x, y] = [query, key].map(side =>
      along(side.subarray(token * headDim, (token + 1) * headDim), vectors),
    )
    return weights.reduce((sum, weight, l) => {
      const squares = x![l]! ** 2 + y![l]! ** 2
      const cross = x![l]! * yAxes![l]! + y![l]! * xAxes![l]! - xAxes![l]! * yAxes![l]!
      return sum + weight * (squares + 2 * cross)
    }, constant)
  })
  return studentTest(tokens).estimate
}

function columnMeans(rows: Float64Array, width: number): Float64Array {
  const sums = new Float64Array(width)
  rows.forEach((x, at) => {
    sums[at % width]! += x
  })
  return sums.map(sum => (sum * width) / rows.length)
}

/** mean (x + y)(x + y)^T over all pairs. */
function pairMatrix(
  {query, key, headDim}: HeadTokens,
  xMean: Float64Array,
  yMean: Float64Array,
): Float64Array {
  const sums = new Float64Array(headDim ** 2)
  const length = query.length / headDim
  for (const side of [query, key]) {
    for (let token = 0; token < length; token++) {
      const row = side.subarray(token * headDim, (token + 1) * headDim)
      for (let i = 0; i < headDim; i++) {
        for (let j = 0; j < headDim; j++) sums[i * headDim + j]! += (row[i]! * row[j]!) / length
      }
    }
  }
  return sums.map((sum, at) => {
    const [i, j] = [Math.floor(at / headDim), at % headDim]
    return sum + xMean[i]! * yMean[j]! + yMean[i]! * xMean[j]!
  })
}

/** Coordinates along eigenvectors, which are columns. */
function along(vector: Float64Array, vectors: Float64Array): Float64Array {
  const n = vector.length
  const out = new Float64Array(n)
  for (let d = 0; d < n; d++) {
    for (let l = 0; l < n; l++) out[l]! += vector[d]! * vectors[d * n + l]!
  }
  return out
}
