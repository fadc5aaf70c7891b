/**
 * Draws where an estimate has its moments, of rows with any law: whole matrices, each under a Haar rotation of its own. For rows
 * whose law knows no direction the rotation changes nothing; of the others, estimates are averages over directions. As in
 * `tilted.ts` a third of the draws are plain, and one row of the others is tilted: the length that it follows, where one can be
 * given, and its direction, by the rotation. See `turnedWeight` for the weights.
 */
import {chis, fisherCosine, normals, randomStream} from '../../random/index.js'
import {normalTilt, type RowTilt, turnedWeight} from '../../theory/row-tilt.js'
import {type LengthLaw, lengthLaw, matrixGiven} from './given-lengths.js'
import {projectionNamed} from './index.js'
import {orthonormalizeRows} from './orthogonal.js'
import {norm, rowOf} from './rows.js'
import {TILTS, type TiltedRequest, type TiltedRows} from './tilted.js'
import {turnedAxes} from './turned.js'
import type {OrthSign, StreamOf} from './types.js'

export interface TiltedTurnedRequest extends Omit<TiltedRequest, 'columns' | 'along'> {
  /** D; or 2 or 3 below it, as `PlaneRequest` has them. */
  columns: number
  /** z: its two coordinates in the plane, or all D. */
  along: ArrayLike<number>
}

/** Whether rows may be drawn so: raw signs are there to show what they cost in one direction. */
export function drawnTiltedTurned(name: string, orthSign: OrthSign): boolean {
  return orthSign === 'haar' || !projectionNamed(name).takesOrthSign
}

/** Draws rows by their coordinates; draw i has law i modulo {@link TILTS}. */
export function tiltedTurnedRows(request: TiltedTurnedRequest): TiltedRows {
  const {name, draws, numFeatures, headDim, columns, tilt, along, first = 0} = request
  const axes = turnedAxes(columns, headDim)
  const size = Math.sqrt(tilt.squaredNorm)
  const lengths = tilt.sphere ? undefined : lengthLaw(name, request)
  const weight = turnedWeight(tilt, {headDim, lengths})
  const mirror = mirrorOf(along, axes)
  const rows = new Float32Array(draws * numFeatures * columns)
  const weights = new Float64Array(draws)
  const coordinates = new Float64Array(axes)
  for (let draw = 0; draw < draws; draw++) {
    const moment = (first + draw) % TILTS
    const {matrix, sources, turn} = turnedDraw(request, {draw, moment, lengths, axes})
    for (let row = 0; row < numFeatures; row++) {
      const vector = rowOf(matrix, row, headDim)
      for (let axis = 0; axis < axes; axis++) {
        coordinates[axis] = product(vector, rowOf(turn, axis, headDim))
      }
      const length = norm(vector)
      weight.add(coordinates[0]! * size, length, sources[row]!)
      const to = (draw * numFeatures + row) * columns
      rows.set(mirrored(coordinates, mirror), to)
      if (columns > axes) {
        const rest = length * length - product(coordinates, coordinates)
        rows[to + axes] = Math.sqrt(Math.max(0, rest))
      }
    }
    weights[draw] = weight.take()
  }
  return {rows, weights}
}

interface DrawLaw {
  draw: number
  /** 0: plain; 1, 2: of that moment. */
  moment: number
  /** The law of a length, where one may be given. */
  lengths: LengthLaw | undefined
  axes: number
}

/** A matrix and the directions that stand for the axes, that of z first, `[axes, D]`. */
function turnedDraw(request: TiltedTurnedRequest, {draw, moment, lengths, axes}: DrawLaw) {
  const {name, numFeatures, headDim, seed, tilt, group = 0} = request
  const stream: StreamOf = (part, block = 0) =>
    randomStream(seed, `projection.tilted.${part}`, group, draw, block)
  const shape = {name, numFeatures, headDim, stream}
  const turn = normals(stream('turn'), axes * headDim)
  if (moment === 0) return {...matrixGiven(shape), turn: orthonormalizeRows(turn, headDim)}
  const source = stream('tilted')
  const row = source.integer(numFeatures)
  const sign = tilt.even && source.integer(2) === 1 ? -1 : 1
  const given =
    lengths === undefined
      ? undefined
      : {row, length: tiltedLength({moment, lengths, headDim}, tilt, stream)}
  const drawn = matrixGiven({...shape, given})
  const vector = rowOf(drawn.matrix, row, headDim)
  const length = tilt.sphere ? Math.sqrt(headDim) : norm(vector)
  const slope = Math.sqrt(1 - 4 * (tilt.exponent ?? 0))
  const reach = moment * slope * length * Math.sqrt(tilt.squaredNorm)
  setCosine(turn.subarray(0, headDim), vector, sign * fisherCosine(source, headDim, reach))
  return {...drawn, turn: orthonormalizeRows(turn, headDim)}
}

/** |N(shift z, spread^2 I)| in P dimensions; or of D coordinates of a vector of length sqrt(P), its direction tilted to one of them. */
function tiltedLength(
  {moment, lengths, headDim}: {moment: number; lengths: LengthLaw; headDim: number},
  {exponent = 0, squaredNorm}: RowTilt,
  stream: StreamOf,
): number {
  const {dim, sphere} = lengths
  const chi = (part: string, count: number) =>
    count === 0 ? 0 : chis({normal: stream(part), again: stream(`${part}.again`)}, 1, count)[0]!
  if (sphere) {
    const reach = moment * Math.sqrt((1 - 4 * exponent) * dim * squaredNorm)
    const cosine = fisherCosine(stream('along'), dim, reach)
    const [inside, outside] = [chi('rest', headDim - 1), chi('outside', dim - headDim)]
    const share = inside / Math.hypot(inside, outside)
    return Math.sqrt(dim) * Math.hypot(cosine, Math.sqrt(Math.max(0, 1 - cosine ** 2)) * share)
  }
  const {shift, spread} = normalTilt(moment, exponent)
  const along = shift * Math.sqrt(squaredNorm) + spread * stream('along').normal()
  return Math.hypot(along, spread * chi('rest', dim - 1))
}

/** Makes a vector of normals a unit vector with that cosine to another one, in place. */
function setCosine(turn: Float64Array, vector: Float64Array, cosine: number): void {
  const size = norm(vector)
  if (size === 0) return // no direction is nearer to it than others
  const along = product(turn, vector) / size
  turn.forEach((entry, d) => {
    turn[d] = entry - (along * vector[d]!) / size
  })
  const across = norm(turn)
  // on a line there is nothing across
  const factor = turn.length === 1 ? 0 : Math.sqrt(Math.max(0, 1 - cosine * cosine)) / across
  turn.forEach((entry, d) => {
    turn[d] = factor * entry + (cosine * vector[d]!) / size
  })
}

/** The reflection of the first axis to the direction of z; `undefined`: it is there. */
function mirrorOf(along: ArrayLike<number>, axes: number): Float64Array | undefined {
  const z = Float64Array.from({length: axes}, (_, axis) => along[axis]!)
  const size = norm(z)
  const mirror = z.map((entry, axis) => (axis === 0 ? 1 : 0) - entry / size)
  return product(mirror, mirror) > 2 ** -80 ? mirror : undefined
}

function mirrored(coordinates: Float64Array, mirror: Float64Array | undefined): Float64Array {
  if (!mirror) return coordinates
  const factor = (2 * product(coordinates, mirror)) / product(mirror, mirror)
  return coordinates.map((entry, axis) => entry - factor * mirror[axis]!)
}

function product(a: Float64Array, b: Float64Array): number {
  let sum = 0
  for (let d = 0; d < a.length; d++) sum += a[d]! * b[d]!
  return sum
}
