/**
 * Rows as two vectors see them, drawn where an estimate with a heavy tail has its moments. A third of the draws are as the
 * projection makes them; in the second third one row has the law that makes the mean of its product, in the last third
 * the law that makes the mean square, and the other rows follow it as they do in the projection. Each draw has a weight,
 * the density of the projection's law over that of the mixture.
 *
 * With p the law of matrices and r that of a row, matrices of part k have the density `p(W) mean_i r_k(w_i) / r(w_i)`: a weight
 * is `3 / (1 + sum_k mean_i r_k(w_i) / r(w_i))`. It is at most 3, and weighted squares of estimates stay within a multiple of
 * their mean, however heavy the tail is.
 *
 * Source: derived here; mixtures with the law itself: Hesterberg 1995, Technometrics 37(2); weights by the whole mixture: Owen
 * and Zhou 2000, J. Am. Stat. Assoc. 95.
 */
import {chis, fisherCosine, type RandomStream, randomStream} from '../../random/index.js'
import {mixtureWeight, normalTilt, type RowTilt} from '../../theory/row-tilt.js'
import type {ProjectionName} from './index.js'
import {haarColumns, type PlaneRequest, sharedNormals, simplexEntries} from './plane.js'
import {rowOf} from './rows.js'
import {adapted, simplexDirections} from './simplex.js'
import type {OrthSign} from './types.js'

/** Laws that draws have in turn: the projection's own, and those of the first and second moment. */
export const TILTS = 3

export interface TiltedRequest extends PlaneRequest {
  tilt: RowTilt
  /** z, by its coordinates in the plane. */
  along: ArrayLike<number>
  /** Index of the first draw: it decides which law a draw has. Default 0. */
  first?: number
}

/** Rows with their weights. */
export interface TiltedRows {
  /** `[draws, M, columns]`, row-major. */
  rows: Float32Array
  /** One for each draw. */
  weights: Float64Array
}

/** How the rows of a block are related. */
type Relation = 'independent' | 'opposite' | 'orthogonal' | 'simplex' | 'adapted'

/** The law of a projection's rows. */
interface Law {
  relation: Relation
  /** Lengths are all sqrt(D). */
  sphere?: boolean
  /** All rows are one block, of directions in M dimensions. */
  tall?: boolean
}

const LAWS: Partial<Record<ProjectionName, Law>> = {
  iid: {relation: 'independent'},
  antithetic: {relation: 'opposite'},
  orth: {relation: 'orthogonal'},
  'orth-sqrt-d': {relation: 'orthogonal', sphere: true},
  'orth-tall': {relation: 'orthogonal', tall: true},
  simplex: {relation: 'simplex'},
  'simplex-plus': {relation: 'adapted'},
}

/** Whether rows of a projection can be tilted: their law knows no direction, and that of one row is known. */
export function drawnTilted(
  name: string,
  {orthSign, headDim, columns}: {orthSign: OrthSign; headDim: number; columns: number},
): boolean {
  if (!Object.hasOwn(LAWS, name) || orthSign !== 'haar' || headDim <= columns) return false
  // of a tall factor, the length across the plane is not drawn
  return columns === 2 || !LAWS[name as ProjectionName]!.tall
}

/**
 * Draws rows by their coordinates. Projections are made of the same numbers, so that their estimates are paired; draw i of all
 * has law i modulo {@link TILTS}.
 */
export function tiltedRows(request: TiltedRequest): TiltedRows {
  const {draws, numFeatures, columns, headDim, along} = request
  const law = LAWS[request.name]!
  const tilt = law.sphere ? onSphere(request.tilt) : request.tilt
  const size = Math.sqrt(tilt.squaredNorm)
  const [a = 0, b = 0] = Array.from(along)
  const whole = Math.hypot(a, b)
  const [cosine, sine] = whole > 0 ? [a / whole, b / whole] : [1, 0]
  const rows = new Float32Array(draws * numFeatures * columns)
  const weights = new Float64Array(draws)
  const weight = mixtureWeight(tilt, headDim)
  const next = drawer(request, law, tilt)
  for (let draw = 0; draw < draws; draw++) {
    const drawn = next(draw)
    for (let row = 0; row < numFeatures; row++) {
      const to = (draw * numFeatures + row) * columns
      const [a, b, length] = [drawn.along[row]!, drawn.across[row]!, drawn.lengths[row]!]
      weight.add(a * size, length * length)
      rows[to] = cosine * a - sine * b
      rows[to + 1] = sine * a + cosine * b
      if (columns === 3) rows[to + 2] = Math.sqrt(Math.max(0, length * length - a * a - b * b))
    }
    weights[draw] = weight.take()
  }
  return {rows, weights}
}

/** The tilt of rows of one length: `exp(2a |w|^2)` is a number then, and the factor of w.z goes to z. */
function onSphere({squaredNorm, exponent = 0, even}: RowTilt): RowTilt {
  return {squaredNorm: (1 - 4 * exponent) * squaredNorm, sphere: true, ...(even && {even})}
}

/** Rows of one draw by their entries along z and across it in the plane, and their lengths. */
interface DrawnRows {
  along: Float64Array
  across: Float64Array
  lengths: Float64Array
}

/** Its entries, length included. */
interface TiltedRow {
  index: number
  along: number
  across: number
  length: number
}

/** Random numbers of all draws of a request. */
interface Numbers {
  /** Of a draw, `[blocks, 2, size]`. */
  plane: Float64Array
  lengths: Float64Array
  choice: RandomStream
  tilted: RandomStream
  rest: Float64Array
}

/** Makes one draw after the other. */
function drawer(request: TiltedRequest, law: Law, tilt: RowTilt): (draw: number) => DrawnRows {
  const {numFeatures, headDim, draws, first = 0} = request
  const size = law.tall ? numFeatures : headDim
  const blocks = Math.ceil(numFeatures / size)
  const numbers = numbersOf(request, law, size)
  const source = {law, tilt, numbers}
  const out = emptyRows(numFeatures) // of all draws in turn
  const per = {plane: numbers.plane.length / draws, lengths: numbers.lengths.length / draws}
  const build = law.relation === 'independent' || law.relation === 'opposite' ? freeRows : blockRows
  return draw => {
    const moment = (first + draw) % TILTS
    const row = moment === 0 ? undefined : tiltedRow({draw, moment}, request, source)
    const plane = numbers.plane.subarray(draw * per.plane, (draw + 1) * per.plane)
    const lengths = numbers.lengths.subarray(draw * per.lengths, (draw + 1) * per.lengths)
    return build({plane, lengths, row, blocks, size, numFeatures, relation: law.relation, out})
  }
}

function numbersOf(request: TiltedRequest, law: Law, size: number): Numbers {
  const {draws, numFeatures, seed, group = 0, headDim} = request
  const stream = (part: string) => randomStream(seed, `projection.tilted.${part}`, group)
  const chi = (part: string, count: number, dim: number) =>
    chis({normal: stream(part), again: stream(`${part}.again`)}, count, dim)
  const padded = Math.ceil(numFeatures / size) * size
  const free = law.relation === 'independent' || law.relation === 'opposite'
  // of rows that are independent, what lies across the plane is drawn where it has a part
  const {columns, tilt} = request
  const whole = columns === 3 || tilt.sphere || tilt.exponent !== undefined
  const lengths = free
    ? whole
      ? chi('across', draws * padded, size - 2)
      : new Float64Array(draws * padded)
    : law.sphere
      ? new Float64Array(draws * padded).fill(Math.sqrt(headDim))
      : chi('lengths', draws * padded, size)
  return {
    plane: sharedNormals({seed, part: 'projection.tilted.directions', group}, 2 * draws * padded),
    lengths,
    choice: stream('choice'),
    tilted: stream('tilted'),
    rest: chi('rest', draws, size - 2),
  }
}

interface TiltSource {
  law: Law
  tilt: RowTilt
  numbers: Numbers
}

/** The row of a draw that is tilted, for the first or the second moment. */
function tiltedRow(
  {draw, moment}: {draw: number; moment: number},
  {numFeatures, headDim}: TiltedRequest,
  {law, tilt, numbers}: TiltSource,
): TiltedRow {
  const {tilted, rest} = numbers
  const index = numbers.choice.integer(numFeatures)
  const sign = tilt.even && numbers.choice.integer(2) === 1 ? -1 : 1
  const norm = Math.sqrt(tilt.squaredNorm)
  if (!tilt.sphere) {
    const {shift, spread} = normalTilt(moment, tilt.exponent ?? 0)
    const along = sign * shift * norm + spread * tilted.normal()
    const across = spread * tilted.normal()
    return {index, along, across, length: Math.hypot(along, across, spread * rest[draw]!)}
  }
  // a direction tilted; its length is that of the rows
  const cosine = sign * fisherCosine(tilted, headDim, moment * Math.sqrt(headDim) * norm)
  const [u, v] = [tilted.normal(), tilted.normal()]
  const side = Math.hypot(v, rest[draw]!)
  const length = law.sphere ? Math.sqrt(headDim) : Math.hypot(u, side)
  const other = Math.sqrt(Math.max(0, 1 - cosine * cosine))
  return {index, along: length * cosine, across: (length * other * v) / side, length}
}

interface Parts {
  plane: Float64Array
  lengths: Float64Array
  row: TiltedRow | undefined
  blocks: number
  size: number
  numFeatures: number
  relation: Relation
  out: DrawnRows
}

/** Independent rows, or pairs w, -w of such. */
function freeRows({plane, lengths: rest, row, numFeatures, relation, out}: Parts): DrawnRows {
  const half = plane.length / 2
  for (let at = 0; at < numFeatures; at++) {
    const opposite = relation === 'opposite'
    const from = opposite ? at >> 1 : at
    const sign = opposite && at % 2 === 1 ? -1 : 1
    const [a, b] = [plane[from]!, plane[half + from]!]
    out.along[at] = sign * a
    out.across[at] = sign * b
    out.lengths[at] = Math.sqrt(a * a + b * b + rest[from]! * rest[from]!)
  }
  if (!row) return out
  const partner = relation === 'opposite' ? row.index ^ 1 : row.index
  for (const at of [partner, row.index]) {
    if (at >= numFeatures) continue
    const sign = at === row.index ? 1 : -1
    out.along[at] = sign * row.along
    out.across[at] = sign * row.across
    out.lengths[at] = row.length
  }
  return out
}

function emptyRows(count: number): DrawnRows {
  const [along, across, lengths] = [0, 1, 2].map(() => new Float64Array(count))
  return {along: along!, across: across!, lengths: lengths!}
}

/** Blocks of rows at fixed angles to each other, or at angles that follow from their lengths. */
function blockRows({plane, lengths, row, blocks, size, numFeatures, ...parts}: Parts): DrawnRows {
  const {relation, out} = parts
  for (let block = 0; block < blocks; block++) {
    const first = block * size
    const own = lengths.subarray(first, first + size)
    const tilted = row && row.index >= first && row.index < first + size ? row : undefined
    if (tilted) own[tilted.index - first] = tilted.length
    const directions = relation === 'adapted' ? adapted(simplexDirections(size), own) : undefined
    const columns = plane.subarray(2 * first, 2 * (first + size))
    if (tilted) {
      const local = tilted.index - first
      const unit = directionOf(relation, local, size, directions)
      turnTo(columns, unit, tilted.along / tilted.length)
    } else haarColumns(columns, 0, size)
    if (relation === 'simplex') simplexEntries(columns, 0, size)
    const rows = Math.min(size, numFeatures - first)
    for (let at = 0; at < rows; at++) {
      const length = own[at]!
      const direction = directions && rowOf(directions, at, size)
      const along = direction ? product(direction, columns, 0) : columns[at]!
      const across = direction ? product(direction, columns, size) : columns[size + at]!
      out.lengths[first + at] = length
      out.along[first + at] = length * along
      out.across[first + at] = length * across
    }
  }
  return out
}

/** The unit vector of one row of a block, before the rotation. */
function directionOf(
  relation: Relation,
  index: number,
  size: number,
  directions: Float64Array | undefined,
): Float64Array {
  if (directions) return rowOf(directions, index, size)
  const unit = new Float64Array(size)
  unit[index] = 1
  if (relation === 'simplex') {
    const scale = Math.sqrt(size / (size - 1))
    unit.forEach((e, d) => {
      unit[d] = scale * (e - 1 / size)
    })
  }
  return unit
}

/**
 * Turns two rows of normals into columns of a Haar matrix, the first one given its product with a unit vector, in
 * place.
 */
function turnTo(columns: Float64Array, unit: Float64Array, cosine: number): void {
  const size = unit.length
  const along = product(unit, columns, 0)
  let squares = 0
  for (let d = 0; d < size; d++) {
    columns[d]! -= along * unit[d]!
    squares += columns[d]! ** 2
  }
  const factor = Math.sqrt(Math.max(0, 1 - cosine * cosine) / squares)
  for (let d = 0; d < size; d++) columns[d] = factor * columns[d]! + cosine * unit[d]!
  haarColumns(columns, 0, size)
}

function product(vector: Float64Array, entries: Float64Array, from: number): number {
  let sum = 0
  for (let d = 0; d < vector.length; d++) sum += vector[d]! * entries[from + d]!
  return sum
}
