/** Kernel estimates of one pair over many draws of one projection. */
import type {Estimator, Noise, Projection} from '../../../attention/index.js'
import {
  type CalibrationPairs,
  callNoise,
  hostData,
  planeRows,
  projectionTensor,
  tiltedRows,
  tiltedTurnedRows,
  turnedRows,
} from '../../../attention/internal.js'
import type {ProjectionName} from '../../../attention/names.js'
import {tf} from '../../../tf.js'
import type {RowTilt} from '../../../theory/row-tilt.js'
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

export interface Tilted {
  tilt: RowTilt
  /** z, by its coordinates in the plane or whole. */
  along: Float64Array
  /** Coordinates of a row in the plane of the pair; `undefined`: all D. */
  plane: 2 | 3 | undefined
  /** Matrices are drawn whole, each under a rotation. Always without a plane. */
  whole: boolean
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
  for (const {first, count} of batches(batch, {replicates, before})) {
    const drawn = {...batch, projection, count, group: first / GROUP}
    const {products} = hostData(() => estimated(request, drawn, projectionOf(request.cell, drawn)))
    out.set(products, first)
    onDraws?.(first + count)
  }
  return out
}

export interface WeightedEstimates {
  estimates: Float64Array
  weights: Float64Array
}

/** {@link kernelEstimates} with rows drawn where products have their moments; draw i has law i modulo `TILTS`. */
export function tiltedEstimates(
  request: EstimateRequest,
  {projection, ...tilted}: Tilted & {projection: ProjectionName},
  onDraws?: (draws: number) => void,
  {replicates, before}: {replicates: number; before?: WeightedEstimates | undefined} = request.cell,
): WeightedEstimates {
  const batch = batchOf({...request, projection, tilted})
  const out = {estimates: new Float64Array(replicates), weights: new Float64Array(replicates)}
  if (before) {
    out.estimates.set(before.estimates)
    out.weights.set(before.weights)
  }
  for (const {first, count} of batches(batch, {replicates, before: before?.estimates})) {
    const drawn = {...batch, projection, count, group: first / GROUP}
    const {rows, weights} = tiltedGroups(request.cell, drawn, tilted)
    const shape: [number, number, number] = [count, request.cell.num_features, batch.columns]
    const {products} = hostData(() => estimated(request, drawn, tf.tensor3d(rows, shape)))
    out.estimates.set(products, first)
    out.weights.set(weights, first)
    onDraws?.(first + count)
  }
  return out
}

/** The calls of draws that are not there yet. */
function* batches({draws}: Batch, {replicates, before}: DrawCount) {
  // a group that was begun is drawn again: it is one stream
  const known = before ? Math.floor(before.length / GROUP) * GROUP : 0
  for (let first = known; first < replicates; first += draws) {
    yield {first, count: Math.min(draws, replicates - first)}
  }
}

/** Group by group, each one stream. */
function tiltedGroups(cell: VarianceCell, drawn: Drawn, {plane, whole, ...tilted}: Tilted) {
  const {num_features: numFeatures, head_dim: headDim} = cell
  const {columns} = drawn
  const rows = new Float32Array(drawn.count * numFeatures * columns)
  const weights = new Float64Array(drawn.count)
  for (let first = 0; first < drawn.count; first += GROUP) {
    const group = drawn.group + first / GROUP
    const request = {
      ...{name: drawn.projection as ProjectionName, numFeatures, headDim, ...tilted},
      ...{seed: drawSeed(cell), group, first: group * GROUP},
      draws: Math.min(GROUP, drawn.count - first),
    }
    const own =
      plane && !whole
        ? tiltedRows({...request, columns: plane})
        : tiltedTurnedRows({...request, columns})
    rows.set(own.rows, first * numFeatures * columns)
    weights.set(own.weights, first)
  }
  return {rows, weights}
}

function estimated(request: EstimateRequest, drawn: Drawn, rows: Projection) {
  const draws = drawsOf(request, drawn, rows)
  const [query, key] = [features(request, draws, 'query'), features(request, draws, 'key')]
  return {products: tf.sum(tf.mul(query, key), -1)}
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

function drawsOf(
  {cell, estimator, options}: EstimateRequest,
  drawn: Drawn,
  rows: Projection,
): Draws {
  const {count, columns, group} = drawn
  const shape = batchShape(cell.num_features, columns, count)
  const seed = {seed: drawSeed(cell), replicate: group}
  const noise = callNoise(estimator, shape, options, {}, seed)
  return {...drawn, rows, noise}
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
