/** The vectors of a variance cell: the pair that is estimated, and others like it to calibrate on. */
import {type CalibrationPairs, orthonormalizeRows} from '../../attention/internal.js'
import {normals, type RandomStream, randomStream} from '../../random/index.js'
import type {VarianceCell} from './schema.js'

/** Two canonical vectors. */
export interface Pair {
  x: Float64Array
  y: Float64Array
}

type PairRequest = Pick<VarianceCell, 'head_dim' | 'norm' | 'angle_deg' | 'seed'>

/** Pairs that data-dependent features are set by. */
export const CALIBRATION_PAIRS = 256

/**
 * Two vectors of the cell's norm at the cell's angle, in a plane that the seed chooses: not every
 * projection treats all directions alike, and the axes are special to some.
 */
export function pairOf(cell: PairRequest): Pair {
  return pairInPlane(cell, randomStream(cell.seed, 'variance.plane'))
}

/**
 * Pairs of the same norm and angle in independent planes: features that look at data must not look at the
 * very pair that they are judged on.
 */
export function calibrationPairs(cell: PairRequest): CalibrationPairs {
  const pairs = Array.from({length: CALIBRATION_PAIRS}, (_, index) =>
    pairInPlane(cell, randomStream(cell.seed, 'variance.calibration', index)),
  )
  return {query: pairs.map(({x}) => x), key: pairs.map(({y}) => y)}
}

/** The same pair by its coordinates in its plane: features of which only rows' products with both matter. */
export function planePair({norm, angle_deg}: Pick<PairRequest, 'norm' | 'angle_deg'>): Pair {
  const angle = (angle_deg * Math.PI) / 180
  return {
    x: Float64Array.of(norm, 0),
    y: Float64Array.of(norm * Math.cos(angle), norm * Math.sin(angle)),
  }
}

function pairInPlane({head_dim, norm, angle_deg}: PairRequest, stream: RandomStream): Pair {
  const angle = (angle_deg * Math.PI) / 180
  const rows = Math.min(2, head_dim)
  const plane = orthonormalizeRows(normals(stream, rows * head_dim), head_dim)
  const x = plane.slice(0, head_dim).map(e => norm * e)
  const across = rows === 2 ? plane.subarray(head_dim) : new Float64Array(1)
  const y = x.map((e, d) => Math.cos(angle) * e + norm * Math.sin(angle) * across[d]!)
  return {x, y}
}

/**
 * The seed of a pair's draws: pairs of other norms, angles or sizes are independent experiments. Methods share
 * their draws, where rows of both are drawn whole or both in the plane, so that what differs between two of them at
 * one pair is not chance alone.
 */
export function drawSeed({
  seed,
  num_features,
  head_dim,
  norm,
  angle_deg,
}: PairRequest & Pick<VarianceCell, 'num_features'>): number {
  const name = `variance.draws M=${num_features} D=${head_dim} norm=${norm} angle=${angle_deg}`
  const stream = randomStream(seed, name)
  return (stream.uint32() >>> 11) * 2 ** 32 + stream.uint32() // 53 bits
}
