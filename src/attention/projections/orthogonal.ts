import {hostLoops} from '../../host-loops.js'
import {normals} from '../../random/index.js'
import {householderSigns} from './householder.js'
import {chiLengths, inBlocks, norm, rowOf, scaleRows} from './rows.js'
import type {AllMatrices, OrthSign, ProjectionDefinition} from './types.js'

const CITATION = 'Yu et al. 2016, arXiv:1610.09072; Choromanski et al. 2021, arXiv:2009.14794'

/** Blocks of D orthogonal rows with independent chi_D lengths: each row is N(0, I). */
export const orth: ProjectionDefinition = {
  title: 'blocks of D orthogonal rows, independent chi lengths',
  rows: 'normal',
  rotationInvariant: true,
  citation: CITATION,
  takesOrthSign: true,
  draw: (shape, stream, {orthSign}) =>
    inBlocks(shape, shape.headDim, (block, rows) =>
      scaleRows(
        orthogonalFactor(
          normals(stream('directions', block), rows * shape.headDim),
          shape.headDim,
          orthSign,
        ),
        chiLengths(stream('lengths', block), rows, shape.headDim),
      ),
    ),
  drawAll: all => drawOrthogonal(all, all.key('lengths')),
}

/** Blocks of D orthogonal rows, all of length sqrt(D): lower variance, biased for the softmax kernel. */
export const orthSqrtD: ProjectionDefinition = {
  title: 'blocks of D orthogonal rows, all of length sqrt(D)',
  rows: 'sphere',
  rotationInvariant: true,
  citation: CITATION,
  takesOrthSign: true,
  draw: (shape, stream, {orthSign}) =>
    inBlocks(shape, shape.headDim, (block, rows) =>
      scaleRows(
        orthogonalFactor(
          normals(stream('directions', block), rows * shape.headDim),
          shape.headDim,
          orthSign,
        ),
        new Float64Array(rows).fill(Math.sqrt(shape.headDim)),
      ),
    ),
  drawAll: all => drawOrthogonal(all, undefined),
}

/** Draws all matrices by the loop of the backend in use, which has Haar signs alone. */
function drawOrthogonal(
  {key, replicate, replicates, heads, numFeatures, headDim, orthSign, out}: AllMatrices,
  lengthKey: Uint32Array | undefined,
): boolean {
  const own = hostLoops().orthogonalRows
  if (!own || orthSign === 'raw') return false
  own({
    directionKey: key('directions'),
    lengthKey,
    ...{replicate, head: 0, block: 0, replicates, heads, numFeatures, headDim, out},
  })
  return true
}

/**
 * The orthogonal factor of a matrix with the given rows as columns, as rows.
 *
 * `haar`: Gram-Schmidt, the QR factorisation with a positive diagonal of the triangle; for Gaussian rows it is
 * Haar-distributed. `raw`: the same with the signs of LAPACK.
 *
 * @param gaussian - `[R, columns]`, R <= columns; overwritten
 *
 * Source: Mezzadri 2007, arXiv:math-ph/0609050.
 */
export function orthogonalFactor(
  gaussian: Float64Array,
  columns: number,
  sign: OrthSign,
): Float64Array {
  const signs = sign === 'raw' ? householderSigns(gaussian, columns) : undefined
  const factor = orthonormalizeRows(gaussian, columns)
  return signs ? scaleRows(factor, signs) : factor
}

/**
 * Gram-Schmidt over the rows, O(R^2 D), in place, each row projected twice: with the second pass the rows are
 * orthogonal to rounding for any numerically independent input. By the loop of the backend in use, where it has one;
 * both round differently.
 *
 * @param matrix - `[R, columns]`, R <= columns
 * @returns the same array, rows orthonormal, each with a positive component along its input row
 */
export function orthonormalizeRows(matrix: Float64Array, columns: number): Float64Array {
  const own = hostLoops().orthonormalizeRows
  if (own) own(matrix, columns)
  else gramSchmidt(matrix, columns)
  return matrix
}

function gramSchmidt(matrix: Float64Array, columns: number): void {
  const rows = matrix.length / columns
  for (let row = 0; row < rows; row++) {
    const current = rowOf(matrix, row, columns)
    for (let pass = 0; pass < 2; pass++) {
      for (let before = 0; before < row; before++) {
        const other = rowOf(matrix, before, columns)
        let dot = 0
        for (let d = 0; d < columns; d++) dot += current[d]! * other[d]!
        for (let d = 0; d < columns; d++) current[d]! -= dot * other[d]!
      }
    }
    const length = norm(current)
    for (let d = 0; d < columns; d++) current[d]! /= length
  }
}
