/** How far float32 orthogonal factors may be from exact ones; matrices are row-major. */
import {U} from '../helpers/rounding.js'

export function rowAt(matrix: Float64Array, row: number, width: number): Float64Array {
  return matrix.subarray(row * width, (row + 1) * width)
}

export function dot(a: Float64Array, b: Float64Array): number {
  return a.reduce((sum, x, i) => sum + x * b[i]!, 0)
}

/** @param width - columns of `matrix` */
export function transpose(matrix: Float64Array, width: number): Float64Array {
  const height = matrix.length / width
  return matrix.map((_, at) => matrix[(at % height) * width + Math.floor(at / height)]!)
}

/** a b for square matrices. */
function times(a: Float64Array, b: Float64Array, size: number): Float64Array {
  const columns = transpose(b, size)
  return a.map((_, at) =>
    dot(rowAt(a, Math.floor(at / size), size), rowAt(columns, at % size, size)),
  )
}

/** Inverse of the upper triangle of a matrix, column by column. */
function triangularInverse(matrix: Float64Array, size: number): Float64Array {
  const entry = (i: number, j: number) => matrix[i * size + j]!
  const inverse = new Float64Array(size * size)
  for (let j = 0; j < size; j++) {
    for (let i = j; i >= 0; i--) {
      let sum = i === j ? 1 : 0
      for (let k = i + 1; k <= j; k++) sum -= entry(i, k) * inverse[k * size + j]!
      inverse[i * size + j] = sum / entry(i, i)
    }
  }
  return inverse
}

/**
 * Bound on the entries of the orthogonal factor of a float32 Householder factorisation: backward error
 * `6 D^1.5 u |A|` (Higham 2002, theorem 19.4), magnified by `sqrt(2) |A^-1|` (Sun 1991), with
 * Frobenius norms; |A^-1| = |R^-1|.
 *
 * @param columns - `[D, D]`, the columns of A as rows
 * @param factor - their orthogonal factor, as rows
 */
export function factorBound(columns: Float64Array, factor: Float64Array, size: number): number {
  const inverse = triangularInverse(times(factor, transpose(columns, size), size), size)
  const backward = 6 * size ** 1.5 * U * Math.sqrt(dot(columns, columns))
  return Math.SQRT2 * Math.sqrt(dot(inverse, inverse)) * backward
}

/**
 * Bounds on the entries of `I - V S^-1 V^T` in float32, with V of unit columns and S the upper triangle of
 * V^T V, its diagonal halved. Sums of D terms err by D u of their magnitudes, units by D/2 + 3 u, and an
 * inverse X by `D u |X||S||X|` (Higham 2002, section 14.2), which errors of S enter as `|X| dS |X|`.
 *
 * @param gaussian - `[D, D]`, whose lower triangle has the directions of V's columns
 * @returns `[D, D]`
 */
export function reflectionBound(gaussian: Float64Array, size: number): Float64Array {
  const lower = gaussian.map((x, at) => (at % size > Math.floor(at / size) ? 0 : x))
  const rows = transpose(lower, size) // of V^T
  const units = rows.map((x, at) => {
    const row = rowAt(rows, Math.floor(at / size), size)
    return x / Math.sqrt(dot(row, row))
  })
  const gram = times(units, transpose(units, size), size)
  for (let at = 0; at < gram.length; at += size + 1) gram[at]! /= 2
  const inverse = triangularInverse(gram, size)
  const [x, v] = [inverse.map(Math.abs), transpose(units, size).map(Math.abs)]
  const sizes = times(transpose(v, size), v, size)
  const inner = times(times(x, sizes, size), x, size)
  const sum = x.map((entry, at) => (3 * size + 8) * U * inner[at]! + (3 * size + 12) * U * entry)
  return times(times(v, sum, size), transpose(v, size), size).map(entry => entry + 2 * U)
}
