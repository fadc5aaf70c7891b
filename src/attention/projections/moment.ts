import {normals} from '../../random/index.js'
import {factorGiven, withRow} from './released.js'
import {rowOf} from './rows.js'
import type {GivenRow, MatrixShape, ProjectionDefinition, StreamOf} from './types.js'

/**
 * Moment matching: independent rows shifted and whitened so that their mean is exactly zero and
 * their second moment exactly the identity. Needs M > D: the covariance of D rows or fewer has no inverse. Columns
 * come from a QR factorisation of centred Gaussian ones. Its orthogonal factor is uniform: no direction differs
 * from another.
 */
export const moment: ProjectionDefinition = {
  title: 'independent rows with exact mean 0 and covariance I of the sample; needs M > D',
  rows: 'near-normal',
  rotationInvariant: true,
  citation: 'Spectraformer, arXiv:2405.15310',
  extends: false,
  refuses: ({numFeatures, headDim}) =>
    numFeatures > headDim
      ? undefined
      : {
          what: 'numFeatures',
          expected: `more than the head dimension ${headDim} for moment`,
          got: String(numFeatures),
        },
  draw: ({numFeatures, headDim}, stream) =>
    whitened(normals(stream('directions'), numFeatures * headDim), headDim),
}

/**
 * {@link moment} with M > D + 1 and one row given. Over sqrt(M), columns are orthogonal to each other and to 1: a factor of M - 1 rows in a
 * basis that begins with the part of axis i across 1. Of that axis alone, row i has a part.
 */
export function momentGiven(
  {numFeatures, headDim}: MatrixShape,
  stream: StreamOf,
  given?: GivenRow,
): Float64Array {
  const gaussian = normals(stream('directions'), numFeatures * headDim)
  if (!given) return whitened(gaussian, headDim)
  const {row, vector} = given
  const others = gaussian.subarray(headDim)
  centre(others, headDim)
  const root = Math.sqrt(numFeatures - 1)
  const unit = vector.map(entry => entry / root)
  const factor = factorGiven(others, unit)
  const scale = Math.sqrt(numFeatures)
  const own = factor.map((entry, at) => scale * entry - vector[at % headDim]! / (numFeatures - 1))
  return withRow(own, {row, vector})
}

/**
 * Subtracts the mean row, then solves `L x' = x` for every row, C = L L^T the covariance, in place: then
 * `mean x' x'^T = L^-1 C L^-T = I`. O(M D^2).
 */
function whitened(matrix: Float64Array, width: number): Float64Array {
  const count = matrix.length / width
  centre(matrix, width)
  const factor = cholesky(covariance(matrix, width), width)
  for (let i = 0; i < count; i++) {
    const row = rowOf(matrix, i, width)
    for (let d = 0; d < width; d++) {
      let rest = row[d]!
      // entries before d are solved already
      for (let k = 0; k < d; k++) rest -= factor[d * width + k]! * row[k]!
      row[d] = rest / factor[d * width + d]!
    }
  }
  return matrix
}

function centre(matrix: Float64Array, width: number): void {
  const count = matrix.length / width
  for (let d = 0; d < width; d++) {
    let sum = 0
    for (let at = d; at < matrix.length; at += width) sum += matrix[at]!
    for (let at = d; at < matrix.length; at += width) matrix[at]! -= sum / count
  }
}

/** Mean outer product of the rows, lower triangle. */
function covariance(matrix: Float64Array, width: number): Float64Array {
  const count = matrix.length / width
  const out = new Float64Array(width * width)
  for (let i = 0; i < count; i++) {
    const row = rowOf(matrix, i, width)
    for (let a = 0; a < width; a++) {
      for (let b = 0; b <= a; b++) out[a * width + b]! += (row[a]! * row[b]!) / count
    }
  }
  return out
}

/** L with L L^T = matrix, from its lower triangle. */
function cholesky(matrix: Float64Array, size: number): Float64Array {
  const out = new Float64Array(size * size)
  for (let i = 0; i < size; i++) {
    for (let j = 0; j <= i; j++) {
      let rest = matrix[i * size + j]!
      for (let k = 0; k < j; k++) rest -= out[i * size + k]! * out[j * size + k]!
      out[i * size + j] = i === j ? Math.sqrt(rest) : rest / out[j * size + j]!
    }
  }
  return out
}
