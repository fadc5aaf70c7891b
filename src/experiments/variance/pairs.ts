/** The vectors of a variance cell: the pair that is estimated, and others like it to calibrate on. */
import {type CalibrationPairs, orthonormalizeRows} from '../../attention/internal.js'
import {normals, type RandomStream, randomStream} from '../../random/index.js'
import type {PairFields} from './pair-text.js'
import type {VarianceCell} from './schema.js'

export interface Pair {
  x: Float64Array
  y: Float64Array
}

type PairRequest = PairFields & Pick<VarianceCell, 'head_dim' | 'seed'>

/** Pairs that data-dependent features are set by. */
export const CALIBRATION_PAIRS = 256

/**
 * Two vectors of the cell's norm at the cell's angle, in a plane that the seed chooses. Projections that treat directions
 * differently are turned anew for each draw.
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

/** The same pair by its coordinates in its plane: for features that depend only on the products of rows with both. */
export function planePair(pair: PairFields): Pair {
  const {norm, key_norm: keyNorm = norm, angle_deg, sum_norm, difference_norm} = pair
  if (sum_norm !== undefined && difference_norm !== undefined) {
    // along x + y and along x - y
    return {
      x: Float64Array.of(sum_norm / 2, difference_norm / 2),
      y: Float64Array.of(sum_norm / 2, -difference_norm / 2),
    }
  }
  const angle = (angle_deg * Math.PI) / 180
  return {
    x: Float64Array.of(norm, 0),
    y: Float64Array.of(keyNorm * Math.cos(angle), keyNorm * Math.sin(angle)),
  }
}

/** Norm and angle of two vectors of equal norms with that sum and difference, which are then orthogonal. */
export function sumPair(sum: number, difference: number): PairFields {
  return {
    norm: Math.hypot(sum, difference) / 2,
    angle_deg: (2 * Math.atan2(difference, sum) * 180) / Math.PI,
    sum_norm: sum,
    difference_norm: difference,
  }
}

function pairInPlane(request: PairRequest, stream: RandomStream): Pair {
  const {head_dim} = request
  const rows = Math.min(2, head_dim)
  const plane = orthonormalizeRows(normals(stream, rows * head_dim), head_dim)
  const along = plane.subarray(0, head_dim)
  const across = rows === 2 ? plane.subarray(head_dim) : new Float64Array(1)
  const {norm, key_norm, angle_deg, sum_norm} = request
  if (key_norm === undefined && sum_norm === undefined) {
    const angle = (angle_deg * Math.PI) / 180
    const x = along.map(e => norm * e)
    return {x, y: x.map((e, d) => Math.cos(angle) * e + norm * Math.sin(angle) * across[d]!)}
  }
  const pair = planePair(request)
  const spread = ([a, b]: Float64Array) => along.map((e, d) => a! * e + b! * across[d]!)
  return {x: spread(pair.x), y: spread(pair.y)}
}

/**
 * The seed of a pair's draws: pairs of other norms, angles or sizes are independent experiments. Methods share
 * their draws, where rows of both are drawn whole or both in the plane, so that what differs between two of them at
 * one pair is not chance alone.
 */
export function drawSeed(cell: PairRequest & Pick<VarianceCell, 'num_features'>): number {
  const {seed, num_features, head_dim, norm, key_norm, angle_deg} = cell
  const name = `variance.draws M=${num_features} D=${head_dim} norm=${norm} angle=${angle_deg}`
  const stream = randomStream(seed, key_norm === undefined ? name : `${name} key=${key_norm}`)
  return (stream.uint32() >>> 11) * 2 ** 32 + stream.uint32() // 53 bits
}
