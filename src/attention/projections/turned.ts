/** Rows that treat directions differently, each draw under a random rotation, which makes all directions alike. */
import {normals, randomStream} from '../../random/index.js'
import {type ProjectionName, projectionNamed} from './index.js'
import {orthonormalizeRows} from './orthogonal.js'
import type {PlaneRequest} from './plane.js'
import {rowOf} from './rows.js'
import {drawnRows} from './tensor.js'
import type {OrthSign} from './types.js'

/**
 * Whether the rows of a projection are turned: its law knows directions. Raw signs are there to show what they cost in
 * one direction, and turned they would be Haar signs: rows that have such signs stay as they are.
 */
export function drawnTurned(name: ProjectionName, orthSign: OrthSign): boolean {
  const {rotationInvariant, takesOrthSign = false} = projectionNamed(name)
  return !rotationInvariant && !(takesOrthSign && orthSign === 'raw')
}

export interface TurnedRequest extends Omit<PlaneRequest, 'columns'> {
  /** D; or 2 or 3 below it, as {@link PlaneRequest} has them. */
  columns: number
}

/** Directions that rows are looked at along: all of them, or two. */
export function turnedAxes(columns: number, headDim: number): number {
  return columns < headDim ? 2 : headDim
}

/**
 * Draws matrices W and Haar rotations R, keyed apart: rows of W R by their coordinates, in full or, with fewer columns than
 * D, along two directions and the length across.
 *
 * @returns `[draws, M, columns]`, row-major
 */
export function turnedRows(request: TurnedRequest): Float32Array {
  const {name, draws, numFeatures, headDim, columns, seed, group = 0} = request
  const rows = drawnRows({name, heads: draws, numFeatures, headDim, seed, replicate: group})
  const axes = turnedAxes(columns, headDim)
  const stream = randomStream(seed, 'projection.turn', group)
  const turns = normals(stream, draws * axes * headDim)
  const out = new Float32Array(draws * numFeatures * columns)
  for (let row = 0; row < draws * numFeatures; row++) {
    const draw = Math.floor(row / numFeatures)
    const turn = turns.subarray(draw * axes * headDim, (draw + 1) * axes * headDim)
    if (row % numFeatures === 0) orthonormalizeRows(turn, headDim)
    const vector = rows.subarray(row * headDim, (row + 1) * headDim)
    let rest = product(vector, vector)
    for (let axis = 0; axis < axes; axis++) {
      const along = product(vector, rowOf(turn, axis, headDim))
      out[row * columns + axis] = along
      rest -= along * along
    }
    if (columns > axes) out[row * columns + axes] = Math.sqrt(Math.max(0, rest))
  }
  return out
}

function product(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0
  for (let d = 0; d < a.length; d++) sum += a[d]! * b[d]!
  return sum
}
