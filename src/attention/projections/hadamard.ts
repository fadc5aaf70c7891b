import {chiLengths, inBlocks, rowOf, scaleRows} from './rows.js'
import type {MatrixShape, ProjectionDefinition, StreamOf} from './types.js'

const CITATION = 'Yu et al. 2016, arXiv:1610.09072'

/**
 * Rows of sqrt(P) H S1 H S2 H S3: H the normalised Walsh-Hadamard matrix of size P, S random signs,
 * P the power of two from D up; the first D columns are kept, as for inputs padded with zeros.
 * A row has the mean and covariance of N(0, I). For D = P its length is sqrt(D); else its squared length has mean D
 * and variance `2 D (P - D) / (P + 2)`, about as for D coordinates of a point on the sphere of radius sqrt(P).
 */
export const sorf: ProjectionDefinition = {
  title:
    'three Hadamard transforms with random signs, rows of length sqrt(D) if D is a power of two',
  rows: 'padded-sphere',
  rotationInvariant: false,
  citation: CITATION,
  draw: (shape, stream) => hadamardRows(shape, stream),
}

/** {@link sorf} with chi lengths in place of those, which takes most of its bias away. */
export const sorfChi: ProjectionDefinition = {
  title: 'three Hadamard transforms with random signs, chi lengths',
  rows: 'near-normal',
  rotationInvariant: false,
  citation: CITATION,
  draw: (shape, stream) => {
    const padded = paddedSize(shape.headDim)
    const lengths = inBlocks({...shape, headDim: 1}, padded, (block, rows) =>
      chiLengths(stream('lengths', block), rows, padded),
    )
    const factors = lengths.map(length => length / Math.sqrt(padded))
    return scaleRows(hadamardRows(shape, stream), factors)
  },
}

/** The power of two from `size` up. */
function paddedSize(size: number): number {
  return 2 ** Math.ceil(Math.log2(size))
}

function hadamardRows(shape: MatrixShape, stream: StreamOf): Float64Array {
  const {headDim} = shape
  const size = paddedSize(headDim)
  return inBlocks(shape, size, (block, rows) => {
    const source = stream('directions', block)
    const signs = Float64Array.from({length: 3 * size}, () => (source.integer(2) === 0 ? 1 : -1))
    const out = new Float64Array(rows * headDim)
    const row = new Float64Array(size)
    for (let i = 0; i < rows; i++) {
      row.fill(0)
      // row i of the product: e_i taken through the factors from the left, each transform being symmetric
      row[i] = Math.sqrt(size)
      for (let turn = 0; turn < 3; turn++) {
        walshHadamard(row)
        const own = rowOf(signs, turn, size)
        for (let d = 0; d < size; d++) row[d]! *= own[d]!
      }
      out.set(row.subarray(0, headDim), i * headDim)
    }
    return out
  })
}

/** Fast Walsh-Hadamard transform, normalised, in place: O(P log P) instead of O(P^2). @param row - 2^k numbers */
export function walshHadamard(row: Float64Array): void {
  const size = row.length
  for (let half = 1; half < size; half *= 2) {
    for (let first = 0; first < size; first += 2 * half) {
      for (let at = first; at < first + half; at++) {
        const [a, b] = [row[at]!, row[at + half]!]
        row[at] = a + b
        row[at + half] = a - b
      }
    }
  }
  const scale = 1 / Math.sqrt(size)
  for (let d = 0; d < size; d++) row[d]! *= scale
}
