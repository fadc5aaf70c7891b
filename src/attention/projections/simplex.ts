import {normals} from '../../random/index.js'
import {orthonormalizeRows} from './orthogonal.js'
import {chiLengths, inBlocks, norm, rowOf, scaleRows} from './rows.js'
import type {MatrixShape, ProjectionDefinition, StreamOf} from './types.js'

const CITATION = 'Reid et al. 2023, arXiv:2301.13856'
/** Sweeps over the directions of a block, as in the paper's experiments. */
const SWEEPS = 5

/** SimRF: the rows of a block point to the vertices of a regular simplex, cosine -1/(D-1) between any two. */
export const simplex: ProjectionDefinition = {
  title: 'blocks of D rows to the vertices of a regular simplex, chi lengths (SimRF)',
  rows: 'normal',
  rotationInvariant: true,
  citation: CITATION,
  draw: (shape, stream) => simplexBlocks(shape, stream, simplexDirections),
}

/** SimRF+: directions then adapted to the drawn lengths, so that rows cancel better. */
export const simplexPlus: ProjectionDefinition = {
  title: 'simplex with directions adapted to the drawn lengths (SimRF+)',
  rows: 'normal',
  rotationInvariant: true,
  citation: `${CITATION}, equation 17`,
  draw: (shape, stream) =>
    simplexBlocks(shape, stream, (dim, lengths) => adapted(simplexDirections(dim), lengths)),
}

/** Blocks of D directions under a common Haar rotation, with chi_D lengths. */
function simplexBlocks(
  shape: MatrixShape,
  stream: StreamOf,
  directions: (headDim: number, lengths: Float64Array) => Float64Array,
): Float64Array {
  const {headDim} = shape
  return inBlocks(shape, headDim, (block, rows) => {
    const lengths = chiLengths(stream('lengths', block), headDim, headDim)
    const source = stream('directions', block)
    if (headDim === 1) return Float64Array.of(lengths[0]! * (source.integer(2) === 0 ? 1 : -1))
    const rotation = orthonormalizeRows(normals(source, headDim * headDim), headDim)
    const all = scaleRows(times(directions(headDim, lengths), rotation, headDim), lengths)
    return all.subarray(0, rows * headDim)
  })
}

/**
 * Unit vectors to the vertices of a regular simplex in D dimensions: `sqrt(D/(D-1)) (e_i - 1/D)`.
 *
 * @param headDim - D, at least 2
 * @returns `[D, D]`
 */
export function simplexDirections(headDim: number): Float64Array {
  const scale = Math.sqrt(headDim / (headDim - 1))
  return Float64Array.from(
    {length: headDim * headDim},
    (_, at) => scale * ((at % (headDim + 1) === 0 ? 1 : 0) - 1 / headDim),
  )
}

/**
 * Turns each direction in turn against the sum of all other rows, in place.
 *
 * @param directions - `[D, D]`, unit rows
 * @param lengths - of the rows
 */
export function adapted(directions: Float64Array, lengths: Float64Array): Float64Array {
  const headDim = lengths.length
  const sum = new Float64Array(headDim)
  const add = (row: number, factor: number) => {
    const direction = rowOf(directions, row, headDim)
    for (let d = 0; d < headDim; d++) sum[d]! += factor * direction[d]!
  }
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    sum.fill(0) // anew: updates would gather rounding errors
    lengths.forEach((length, row) => {
      add(row, length)
    })
    lengths.forEach((length, row) => {
      add(row, -length)
      const size = norm(sum)
      rowOf(directions, row, headDim).set(sum.map(x => -x / size))
      add(row, length)
    })
  }
  return directions
}

/** a b for square matrices. */
function times(a: Float64Array, b: Float64Array, size: number): Float64Array {
  const out = new Float64Array(size * size)
  for (let i = 0; i < size; i++) {
    const row = rowOf(out, i, size)
    for (let k = 0; k < size; k++) {
      const factor = a[i * size + k]!
      const other = rowOf(b, k, size)
      for (let j = 0; j < size; j++) row[j]! += factor * other[j]!
    }
  }
  return out
}
