import type {RandomStream} from '../../random/index.js'
import {chiLengths, inBlocks, rowOf, scaleRows} from './rows.js'
import type {ProjectionDefinition} from './types.js'

/**
 * Orthogonal rows from D ceil(ln D) random plane rotations (Kac's random walk), with chi_D lengths.
 *
 * The walk starts from a random signed permutation, so a row has the mean and covariance of N(0, I) after any
 * number of steps; pairs of axes are distinct and angles cover the whole circle. D ln D steps do not mix all axes:
 * rows stay nearer to the axes than uniform ones, with heavier tails of single entries, so that along an axis
 * estimates of positive features are too high and vary more than with iid rows. Both grow with the length of the
 * vectors.
 */
export const givens: ProjectionDefinition = {
  title:
    'D ln D random plane rotations, chi lengths; along an axis biased upwards, more variance than iid',
  rows: 'near-normal',
  rotationInvariant: false,
  citation: 'Choromanski et al. 2021, arXiv:2009.14794, appendix B.2',
  draw: (shape, stream) =>
    inBlocks(shape, shape.headDim, (block, rows) =>
      scaleRows(
        rotatedRows(rows, shape.headDim, stream('directions', block)),
        chiLengths(stream('lengths', block), rows, shape.headDim),
      ),
    ),
}

/** The first rows of a signed permutation, then of its product with the rotations. */
function rotatedRows(rows: number, headDim: number, stream: RandomStream): Float64Array {
  const out = new Float64Array(rows * headDim)
  const axes = Array.from({length: headDim}, (_, d) => d)
  for (let i = 0; i < headDim; i++) {
    const other = i + stream.integer(headDim - i)
    ;[axes[i], axes[other]] = [axes[other]!, axes[i]!]
    const sign = stream.integer(2) === 0 ? 1 : -1
    if (i < rows) out[i * headDim + axes[i]!] = sign
  }
  const steps = headDim * Math.ceil(Math.log(headDim))
  for (let step = 0; step < steps; step++) {
    const a = stream.integer(headDim)
    const b = (a + 1 + stream.integer(headDim - 1)) % headDim
    rotate(out, headDim, a, b, 2 * Math.PI * stream.uniform())
  }
  return out
}

/** Turns columns a and b of every row. */
function rotate(matrix: Float64Array, headDim: number, a: number, b: number, angle: number): void {
  const cosine = Math.cos(angle)
  const sine = Math.sin(angle)
  for (let row = 0; row * headDim < matrix.length; row++) {
    const current = rowOf(matrix, row, headDim)
    const [x, y] = [current[a]!, current[b]!]
    current[a] = cosine * x - sine * y
    current[b] = sine * x + cosine * y
  }
}
