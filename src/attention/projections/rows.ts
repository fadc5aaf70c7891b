/** Small pieces that several projections are made of; matrices are row-major, in double precision. */
import {normals, type RandomStream} from '../../random/index.js'
import type {MatrixShape} from './types.js'

export function norm(vector: Float64Array): number {
  let sum = 0
  for (const x of vector) sum += x * x
  return Math.sqrt(sum)
}

/** Row `index` of a matrix with `width` columns: a view. */
export function rowOf(matrix: Float64Array, index: number, width: number): Float64Array {
  return matrix.subarray(index * width, (index + 1) * width)
}

/** Normals that {@link chiLengths} draws at a time. */
const LENGTH_NORMALS = 4096

/** `count` independent lengths with the law of |N(0, I_dim)|. */
export function chiLengths(stream: RandomStream, count: number, dim: number): Float64Array {
  const lengths = new Float64Array(count)
  const step = Math.max(1, Math.floor(LENGTH_NORMALS / dim))
  for (let first = 0; first < count; first += step) {
    const rows = Math.min(step, count - first)
    const drawn = normals(stream, rows * dim)
    for (let i = 0; i < rows; i++) lengths[first + i] = norm(rowOf(drawn, i, dim))
  }
  return lengths
}

/** Multiplies each row by its own factor, in place. */
export function scaleRows(matrix: Float64Array, factors: ArrayLike<number>): Float64Array {
  const width = matrix.length / factors.length
  for (let at = 0; at < matrix.length; at++) matrix[at]! *= factors[Math.floor(at / width)]!
  return matrix
}

/**
 * Fills a matrix with independent blocks of rows, the last one truncated.
 *
 * @param size - rows of a whole block
 * @param build - the first `rows` rows of a block, `[rows, D]`
 * @returns `[M, D]`
 */
export function inBlocks(
  {numFeatures, headDim}: MatrixShape,
  size: number,
  build: (block: number, rows: number) => Float64Array,
): Float64Array {
  const out = new Float64Array(numFeatures * headDim)
  for (let first = 0; first < numFeatures; first += size) {
    const rows = Math.min(size, numFeatures - first)
    out.set(build(first / size, rows), first * headDim)
  }
  return out
}
