/**
 * Rows of a projection as two vectors see them: by their coordinates in the plane of both and, where it is asked for, by
 * the length of the rest. Where a common rotation of all rows changes nothing in their law, that is all there is to
 * draw: two of D numbers.
 */
import {chis, normals, randomStream} from '../../random/index.js'
import type {ProjectionName} from './index.js'
import type {MatrixShape, OrthSign} from './types.js'

/** What {@link planeRows} draws. */
export interface PlaneRequest extends MatrixShape {
  name: ProjectionName
  /** Matrices, independent of each other. */
  draws: number
  /** 2: coordinates in the plane; 3: and the length across it. */
  columns: 2 | 3
  seed: number
  /** Index of these draws among others. Default 0. */
  group?: number
}

/** The part of one block in the plane: two directions, each as the D entries that rows have along it. */
interface PlaneLaw {
  /** Turns two rows of D normals from an index on into such directions of unit rows, in place. Absent: rows are normal. */
  directions?(plane: Float64Array, first: number, headDim: number): void
  /** Rows are as long as |N(0, I)|; else sqrt(D). */
  chiLengths?: boolean
}

const LAWS: Partial<Record<ProjectionName, PlaneLaw>> = {
  iid: {},
  // two columns of a Haar matrix are two orthonormal vectors of uniform direction
  orth: {directions: haarColumns, chiLengths: true},
  'orth-sqrt-d': {directions: haarColumns},
  simplex: {directions: simplexColumns, chiLengths: true},
}

/**
 * Whether the rows of a projection are drawn in a plane: their law knows no direction, and there are more than the
 * columns asked for. Raw signs know directions; rows that are compared with such ones are drawn whole like them.
 */
export function drawnInPlane(
  name: string,
  {orthSign, headDim, columns}: {orthSign: OrthSign; headDim: number; columns: number},
): boolean {
  return Object.hasOwn(LAWS, name) && orthSign === 'haar' && headDim > columns
}

/**
 * Draws rows by their coordinates, in double precision, then rounded. All projections are made of the same normals, so
 * that their estimates are paired; the first draws of a larger request are the same.
 *
 * @returns `[draws, M, columns]`, row-major
 */
export function planeRows(request: PlaneRequest): Float32Array {
  const {name, draws, numFeatures, headDim, columns, seed, group = 0} = request
  const law = LAWS[name]!
  const count = draws * numFeatures
  const stream = (part: string) => randomStream(seed, `projection.plane.${part}`, group)
  const chi = (part: string, dim: number) =>
    chis({normal: stream(part), again: stream(`${part}.again`)}, count, dim)
  const size = draws * Math.ceil(numFeatures / headDim) * 2 * headDim
  const plane = sharedNormals({seed, part: 'projection.plane.directions', group}, size)
  if (!law.directions) {
    return rowsOf(request, {plane, across: columns === 3 ? chi('across', headDim - 2) : undefined})
  }
  for (let first = 0; first < size; first += 2 * headDim) law.directions(plane, first, headDim)
  const lengths = law.chiLengths
    ? chi('lengths', headDim)
    : new Float64Array(count).fill(Math.sqrt(headDim))
  return rowsOf(request, {plane, lengths})
}

/** Normals of a seed that are kept may take so many bytes: those of one pair and a few thousand draws. */
const KEPT_BYTES = 2 ** 23
const kept = {seed: -1, bytes: 0, arrays: new Map<string, Float64Array>()}

/** Normals that all projections of a pair are made of: kept until the seed is another. @returns a copy */
export function sharedNormals(
  {seed, part, group}: {seed: number; part: string; group: number},
  count: number,
): Float64Array {
  if (kept.seed !== seed) {
    kept.arrays.clear()
    kept.seed = seed
    kept.bytes = 0
  }
  const key = `${part} ${group} ${count}`
  const known = kept.arrays.get(key)
  if (known) return known.slice()
  const drawn = normals(randomStream(seed, part, group), count)
  if (kept.bytes + drawn.byteLength > KEPT_BYTES) return drawn
  kept.bytes += drawn.byteLength
  kept.arrays.set(key, drawn)
  return drawn.slice()
}

interface PlaneParts {
  /** Of every block the entries along both directions, `[blocks, 2, D]`. */
  plane: Float64Array
  /** The lengths, where entries are those of unit vectors. */
  lengths?: Float64Array
  /** Of other rows, across the plane, where it is asked for. */
  across?: Float64Array | undefined
}

function rowsOf(request: PlaneRequest, {plane, lengths, across}: PlaneParts): Float32Array {
  const {draws, numFeatures, headDim, columns} = request
  const out = new Float32Array(draws * numFeatures * columns)
  let row = 0
  let to = 0
  for (let from = 0; from < plane.length; from += 2 * headDim) {
    // the last block of a draw may have more directions than are used
    const end = from + Math.min(headDim, numFeatures - (row % numFeatures))
    for (let at = from; at < end; at++) {
      const a = plane[at]!
      const b = plane[at + headDim]!
      const length = lengths ? lengths[row]! : 1
      out[to++] = length * a
      out[to++] = length * b
      if (columns === 3) {
        out[to++] = across ? across[row]! : length * Math.sqrt(Math.max(0, 1 - a * a - b * b))
      }
      row++
    }
  }
  return out
}

/**
 * Gram-Schmidt on two rows, in place: two columns of a Haar matrix. Like `orthonormalizeRows`, without a view for
 * every row.
 */
export function haarColumns(plane: Float64Array, first: number, headDim: number): void {
  const second = first + headDim
  scale(plane, first, headDim, 1 / Math.sqrt(product(plane, first, first, headDim)))
  for (let pass = 0; pass < 2; pass++) {
    const along = product(plane, first, second, headDim)
    for (let d = 0; d < headDim; d++) plane[second + d]! -= along * plane[first + d]!
  }
  scale(plane, second, headDim, 1 / Math.sqrt(product(plane, second, second, headDim)))
}

/** Directions to the vertices of a regular simplex, `sqrt(D/(D-1)) (e_i - 1/D)`, under a common Haar rotation. */
function simplexColumns(plane: Float64Array, first: number, headDim: number): void {
  haarColumns(plane, first, headDim)
  simplexEntries(plane, first, headDim)
}

/** Products of such directions with two vectors, in their place. */
export function simplexEntries(plane: Float64Array, first: number, headDim: number): void {
  for (const row of [first, first + headDim]) {
    let sum = 0
    for (let d = row; d < row + headDim; d++) sum += plane[d]!
    for (let d = row; d < row + headDim; d++) plane[d]! -= sum / headDim
  }
  scale(plane, first, 2 * headDim, Math.sqrt(headDim / (headDim - 1)))
}

function product(entries: Float64Array, a: number, b: number, length: number): number {
  let sum = 0
  for (let d = 0; d < length; d++) sum += entries[a + d]! * entries[b + d]!
  return sum
}

function scale(entries: Float64Array, first: number, length: number, factor: number): void {
  for (let at = first; at < first + length; at++) entries[at]! *= factor
}
