/** Kernel estimates of one pair over many draws of one projection. */
import type {Estimator, Noise, Projection} from '../../../attention/index.js'
import {
  type CalibrationPairs,
  callNoise,
  hostData,
  planeRows,
  projectionTensor,
  turnedRows,
} from '../../../attention/internal.js'
import type {ProjectionName} from '../../../attention/names.js'
import {tf} from '../../../tf.js'
import {drawOf} from '../../axes.js'
import {calibrationPairs, drawSeed, type Pair, pairOf, planePair} from '../pairs.js'
import type {VarianceCell} from '../schema.js'
import {type Batch, batchOf, batchShape, GROUP, NO_PROJECTION} from './batch.js'

/** What is estimated, in the estimator's input space. */
export interface EstimateRequest extends Pair {
  cell: VarianceCell
  estimator: Estimator
  options: Record<string, unknown>
  calibration: CalibrationPairs
  /** The pair by its two coordinates in its plane. */
  inPlane: Pair
}

/** The pair as the estimator receives it: raw vectors are D^(1/4) times the canonical ones, as at the default logit scale. */
export function estimateRequest(
  cell: VarianceCell,
  estimator: Estimator,
  options: Record<string, unknown>,
): EstimateRequest {
  const factor = estimator.inputs(options) === 'raw' ? cell.head_dim ** 0.25 : 1
  const scaled = (vector: Float64Array) => vector.map(entry => factor * entry)
  const [{x, y}, inPlane] = [pairOf(cell), planePair(cell)]
  const {query, key} = estimator.calibrates ? calibrationPairs(cell) : {query: [x], key: [y]}
  return {
    cell,
    estimator,
    options,
    x: scaled(x),
    y: scaled(y),
    calibration: {query: query.map(scaled), key: key.map(scaled)},
    inPlane: {x: scaled(inPlane.x), y: scaled(inPlane.y)},
  }
}

/** How many draws are estimated. */
export interface DrawCount {
  replicates: number
  /** The first of them, where they are known: the rest is drawn. */
  before?: Float64Array | undefined
}

/** phi(x).phi(y) for every replicate of the cell, or a given number. @param onDraws - called with the number so far */
export function kernelEstimates(
  request: EstimateRequest,
  projection: string,
  onDraws?: (draws: number) => void,
  {replicates, before}: DrawCount = request.cell,
): Float64Array {
  const batch = batchOf({...request, projection})
  const out = new Float64Array(replicates)
  if (before) out.set(before)
  // a group that was begun is drawn again: it is one stream
  const known = before ? Math.floor(before.length / GROUP) * GROUP : 0
  for (let first = known; first < replicates; first += batch.draws) {
    const count = Math.min(batch.draws, replicates - first)
    const {products} = hostData(() => {
      const draws = drawsOf(request, {...batch, projection, count, group: first / GROUP})
      const [query, key] = [features(request, draws, 'query'), features(request, draws, 'key')]
      return {products: tf.sum(tf.mul(query, key), -1)}
    })
    out.set(products, first)
    onDraws?.(first + count)
  }
  return out
}

/** Draws that are estimated together. */
interface Drawn extends Batch {
  projection: string
  count: number
  /** The first of their groups. */
  group: number
}

/** What both sides of a pair share. */
interface Draws extends Drawn {
  rows: Projection
  noise: Noise
}

function drawsOf({cell, estimator, options}: EstimateRequest, drawn: Drawn): Draws {
  const {count, columns, group} = drawn
  const shape = batchShape(cell.num_features, columns, count)
  const seed = {seed: drawSeed(cell), replicate: group}
  const noise = callNoise(estimator, shape, options, {}, seed)
  return {...drawn, rows: projectionOf(cell, drawn), noise}
}

/** Of one side, `[1, h, 1, F]`. */
function features(
  {cell, estimator, options, calibration, x, y, inPlane}: EstimateRequest,
  {plane, columns, count, rows, noise}: Draws,
  side: 'query' | 'key',
): tf.Tensor4D {
  const pair = plane ? inPlane : {x, y}
  const vector = Float32Array.from(side === 'query' ? pair.x : pair.y)
  const repeated = new Float32Array(count * columns) // zero beyond the plane
  for (let draw = 0; draw < count; draw++) repeated.set(vector, draw * columns)
  const tokens = tf.tensor4d(repeated, [1, count, 1, columns])
  const draw = {side, noise, calibration, headDim: cell.head_dim}
  return estimator.kernel!.features(tokens, rows, options, draw)
}

/** One matrix per draw, `[h, M, D]`; nothing for methods that do not look at it. */
function projectionOf(cell: VarianceCell, drawn: Drawn): Projection {
  const {projection, plane, turned, columns, count, group} = drawn
  const {num_features: numFeatures, head_dim: headDim} = cell
  if (projection === NO_PROJECTION) return tf.zeros<tf.Rank.R2>([1, headDim])
  const name = projection as ProjectionName
  const request = {name, numFeatures, headDim, seed: drawSeed(cell)}
  if (turned) {
    const rows = turnedRows({...request, draws: count, columns, group})
    return tf.tensor3d(rows, [count, numFeatures, columns])
  }
  if (!plane) {
    const draw = drawOf({...cell, seed: request.seed}, group)
    return projectionTensor({...request, heads: count, ...draw})
  }
  const rows = new Float32Array(count * numFeatures * columns)
  for (let first = 0; first < count; first += GROUP) {
    const draws = Math.min(GROUP, count - first)
    const own = planeRows({...request, draws, columns: plane, group: group + first / GROUP})
    rows.set(own, first * numFeatures * columns)
  }
  return tf.tensor3d(rows, [count, numFeatures, columns])
}
