/** Orthogonal matrices as released code draws them: not what the papers say, here to show the price. */
import {normals} from '../../random/index.js'
import {orthogonalFactor} from './orthogonal.js'
import {chiLengths, inBlocks, norm, rowOf, scaleRows} from './rows.js'
import type {GivenRow, MatrixShape, OrthSign, ProjectionDefinition, StreamOf} from './types.js'

/**
 * QR of one tall M x D matrix: its columns are orthogonal, its rows for M > D are not. Each row by itself
 * is N(0, I): squared, it is chi^2_M times Beta(D/2, (M-D)/2) long.
 */
export const orthTall: ProjectionDefinition = {
  title: 'orthogonal factor of one M x D matrix, rows times chi_M: rows not orthogonal for M > D',
  rows: 'normal',
  rotationInvariant: true,
  citation: 'Noahs-ARK/RFA, construct_random_matrices.py',
  releasedBy: 'noahs-ark',
  takesOrthSign: true,
  extends: false,
  refuses: ({numFeatures, headDim}) =>
    numFeatures >= headDim
      ? undefined
      : {
          what: 'numFeatures',
          expected: `at least the head dimension ${headDim} for orth-tall`,
          got: String(numFeatures),
        },
  draw: ({numFeatures, headDim}, stream, {orthSign}) =>
    tallRows(
      normals(stream('directions'), numFeatures * headDim),
      chiLengths(stream('lengths'), numFeatures, numFeatures),
      orthSign,
    ),
}

/**
 * Rows of the orthogonal factor of a tall matrix, each times its length.
 *
 * @param gaussian - `[M, D]`
 * @param lengths - M of them
 */
export function tallRows(
  gaussian: Float64Array,
  lengths: Float64Array,
  sign: OrthSign,
): Float64Array {
  const count = lengths.length
  const headDim = gaussian.length / count
  const columns = orthogonalFactor(transpose(gaussian, headDim), count, sign)
  return scaleRows(transpose(columns, count), lengths)
}

/**
 * Rows of {@link orthTall}, with Haar signs and M > D; given a row w, w and M - D more normals have the length c in
 * M dimensions; with q = w / c the other rows come from `U (I - q q^T)^(1/2)`, U the orthogonal factor of M - 1 rows.
 */
export function tallGiven(
  {numFeatures, headDim}: MatrixShape,
  stream: StreamOf,
  given?: GivenRow,
): Float64Array {
  const gaussian = normals(stream('directions'), numFeatures * headDim)
  const lengths = chiLengths(stream('lengths'), numFeatures, numFeatures)
  if (!given) return tallRows(gaussian, lengths, 'haar')
  const {row, vector} = given
  const outside = normals(stream('outside'), numFeatures - headDim)
  const whole = Math.hypot(norm(vector), norm(outside))
  const own = vector.map(entry => entry / whole)
  const others = factorGiven(gaussian.subarray(0, (numFeatures - 1) * headDim), own)
  lengths[row] = whole
  return scaleRows(withRow(others, {row, vector: own}), lengths)
}

/**
 * The other rows of an orthogonal factor with a given row q: `U (I - q q^T)^(1/2)`, U the factor of the others.
 *
 * @param gaussian - `[M - 1, D]`, M > D
 */
export function factorGiven(gaussian: Float64Array, own: Float64Array): Float64Array {
  const headDim = own.length
  const count = gaussian.length / headDim
  const factor = tallRows(gaussian, new Float64Array(count).fill(1), 'haar')
  const size = norm(own)
  const shrink = 1 - Math.sqrt(Math.max(0, 1 - size * size))
  const unit = own.map(entry => entry / size)
  for (let at = 0; at < count; at++) {
    const other = rowOf(factor, at, headDim)
    const along = other.reduce((sum, entry, d) => sum + entry * unit[d]!, 0)
    for (let d = 0; d < headDim; d++) other[d]! -= shrink * along * unit[d]!
  }
  return factor
}

/** A matrix with one row more. */
export function withRow(others: Float64Array, {row, vector}: GivenRow): Float64Array {
  const place = row * vector.length
  const out = new Float64Array(others.length + vector.length)
  out.set(others.subarray(0, place))
  out.set(vector, place)
  out.set(others.subarray(place), place + vector.length)
  return out
}

/**
 * Blocks of M orthogonal columns, one per input dimension: the first D rows of M x M factors. Lengths are
 * independent of the directions here; the released code takes those of the factored matrix.
 */
export const orthColumns: ProjectionDefinition = {
  title: 'orthogonal columns with chi_M lengths: input dimensions are orthogonal, rows are not',
  rows: 'near-normal',
  rotationInvariant: false,
  citation: 'facebookresearch/xformers, feature_maps/softmax.py',
  releasedBy: 'xformers',
  takesOrthSign: true,
  extends: false,
  draw: ({numFeatures, headDim}, stream, {orthSign}) => {
    const shape = {numFeatures: headDim, headDim: numFeatures}
    const columns = inBlocks(shape, numFeatures, (block, rows) => {
      const gaussian = normals(stream('directions', block), rows * numFeatures)
      const lengths = rowNorms(gaussian, numFeatures)
      return scaleRows(orthogonalFactor(gaussian, numFeatures, orthSign), lengths)
    })
    return transpose(columns, numFeatures)
  },
}

/**
 * {@link orthColumns} with M > D, a row of its orthogonal factor, times sqrt(M), given.
 *
 * @returns sources: the lengths of rows of that factor, times sqrt(M)
 */
export function columnsGiven(
  {numFeatures, headDim}: MatrixShape,
  stream: StreamOf,
  given?: GivenRow,
): {matrix: Float64Array; sources: Float64Array} {
  const gaussian = normals(stream('directions'), numFeatures * headDim)
  const columns = chiLengths(stream('columns'), headDim, numFeatures)
  const root = Math.sqrt(numFeatures)
  const factor = given
    ? rowGivenIn(gaussian.subarray(headDim), {...given, vector: given.vector.map(e => e / root)})
    : tallRows(gaussian, new Float64Array(numFeatures).fill(1), 'haar')
  const sources = rowNorms(factor, headDim).map(length => root * length)
  return {matrix: factor.map((entry, at) => entry * columns[at % headDim]!), sources}
}

function rowGivenIn(gaussian: Float64Array, given: GivenRow): Float64Array {
  return withRow(factorGiven(gaussian, given.vector), given)
}

/**
 * Orthogonal blocks with the row lengths of the Gaussian block that was orthogonalised: lengths and directions
 * depend on each other, and the covariance of a row is not I.
 */
export const orthCoupled: ProjectionDefinition = {
  title: 'blocks of D orthogonal rows, lengths from the same Gaussian block',
  rows: 'other',
  rotationInvariant: false,
  citation: 'idiap/fast-transformers, feature_maps/fourier_features.py',
  releasedBy: 'fast-transformers',
  takesOrthSign: true,
  draw: (shape, stream, {orthSign}) =>
    inBlocks(shape, shape.headDim, (block, rows) => {
      const {headDim} = shape
      const gaussian = normals(stream('directions', block), headDim * headDim)
      return coupledRows(gaussian, headDim, orthSign).subarray(0, rows * headDim)
    }),
}

/**
 * The orthogonal factor of a square matrix as rows, row i as long as row i of that matrix; its columns were
 * orthogonalised.
 *
 * @param gaussian - `[D, D]`
 */
export function coupledRows(gaussian: Float64Array, headDim: number, sign: OrthSign): Float64Array {
  const factor = orthogonalFactor(transpose(gaussian, headDim), headDim, sign)
  return scaleRows(factor, rowNorms(gaussian, headDim))
}

/** Products of D reflections along Gaussian vectors: far from uniform, E W_11 = (1 - 2/D) sqrt(D). */
export const householderProduct: ProjectionDefinition = {
  title: 'products of D Householder reflections, rows of length sqrt(D): directions not uniform',
  rows: 'other',
  rotationInvariant: false,
  citation: 'google-research, slim_performer; Stewart 1980 has other reflections',
  releasedBy: 'google-slim',
  draw: (shape, stream) =>
    inBlocks(shape, shape.headDim, (block, rows) => {
      const {headDim} = shape
      const gaussian = normals(stream('directions', block), headDim * headDim)
      return reflectedRows(gaussian, headDim).subarray(0, rows * headDim)
    }),
}

/**
 * sqrt(D) times the transpose of H_1 ... H_D, where H_i reflects along column i of the lower triangle.
 *
 * @param gaussian - `[D, D]`; what lies above the diagonal does not matter
 */
export function reflectedRows(gaussian: Float64Array, headDim: number): Float64Array {
  const out = new Float64Array(headDim * headDim)
  for (let i = 0; i < headDim; i++) out[i * (headDim + 1)] = Math.sqrt(headDim)
  const mirrors = transpose(gaussian, headDim)
  // transposed: H_D ... H_1, so each reflection acts on the rows from the right, last one first
  for (let i = headDim - 1; i >= 0; i--) {
    const mirror = rowOf(mirrors, i, headDim).fill(0, 0, i)
    const squares = norm(mirror) ** 2
    for (let row = 0; row < headDim; row++) {
      const current = rowOf(out, row, headDim)
      let dot = 0
      for (let d = i; d < headDim; d++) dot += mirror[d]! * current[d]!
      for (let d = i; d < headDim; d++) current[d]! -= ((2 * dot) / squares) * mirror[d]!
    }
  }
  return out
}

function rowNorms(matrix: Float64Array, width: number): Float64Array {
  return Float64Array.from({length: matrix.length / width}, (_, i) => norm(rowOf(matrix, i, width)))
}

/** @param width - columns of `matrix` */
function transpose(matrix: Float64Array, width: number): Float64Array {
  const height = matrix.length / width
  return matrix.map((_, at) => matrix[(at % height) * width + Math.floor(at / height)]!)
}
