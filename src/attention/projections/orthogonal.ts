import {normals} from '../../random/index.js'
import type {MatrixShape, StreamOf} from './index.js'

/**
 * Blocks of D orthogonal rows, the last one truncated; blocks are independent.
 *
 * Directions are Haar-distributed: Gram-Schmidt on Gaussian rows is the QR factorisation whose
 * triangle has a positive diagonal, the one for which the orthogonal factor is uniform. (LAPACK's
 * signs are not: positive features from it are biased.)
 *
 * @param lengths - `chi`: independent chi_D, so that each row is N(0, I); `sqrt-d`: all sqrt(D)
 * @returns `[M, D]`
 *
 * Source: Yu et al. 2016, arXiv:1610.09072; signs: Mezzadri 2007, arXiv:math-ph/0609050.
 */
export function orthogonalRows(
  {numFeatures, headDim}: MatrixShape,
  stream: StreamOf,
  lengths: 'chi' | 'sqrt-d',
): Float64Array {
  const out = new Float64Array(numFeatures * headDim)
  for (let first = 0; first < numFeatures; first += headDim) {
    const block = first / headDim
    const rows = Math.min(headDim, numFeatures - first)
    const directions = orthonormalizeRows(
      normals(stream('directions', block), rows * headDim),
      headDim,
    )
    const lengthStream = stream('lengths', block)
    for (let row = 0; row < rows; row++) {
      const length = lengths === 'chi' ? norm(normals(lengthStream, headDim)) : Math.sqrt(headDim)
      for (let d = 0; d < headDim; d++) {
        out[(first + row) * headDim + d] = length * directions[row * headDim + d]!
      }
    }
  }
  return out
}

/**
 * Gram-Schmidt over the rows, in place, each row projected twice: with the second pass the rows are
 * orthogonal to rounding for any numerically independent input.
 *
 * @param matrix - `[R, columns]`, R <= columns
 * @returns the same array, rows orthonormal, each with a positive component along its input row
 */
export function orthonormalizeRows(matrix: Float64Array, columns: number): Float64Array {
  const rows = matrix.length / columns
  for (let row = 0; row < rows; row++) {
    const current = matrix.subarray(row * columns, (row + 1) * columns)
    for (let pass = 0; pass < 2; pass++) {
      for (let before = 0; before < row; before++) {
        const other = matrix.subarray(before * columns, (before + 1) * columns)
        let dot = 0
        for (let d = 0; d < columns; d++) dot += current[d]! * other[d]!
        for (let d = 0; d < columns; d++) current[d]! -= dot * other[d]!
      }
    }
    const length = norm(current)
    for (let d = 0; d < columns; d++) current[d]! /= length
  }
  return matrix
}

function norm(vector: Float64Array): number {
  let sum = 0
  for (const x of vector) sum += x * x
  return Math.sqrt(sum)
}
