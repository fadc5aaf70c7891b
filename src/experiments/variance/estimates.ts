/** Kernel estimates of one pair over many draws of one projection. */
import * as tf from '@tensorflow/tfjs-core'
import type {Estimator, Noise, Projection} from '../../attention/index.js'
import {
  type CalibrationPairs,
  callNoise,
  hostData,
  projectionTensor,
} from '../../attention/internal.js'
import type {ProjectionName} from '../../attention/names.js'
import {batchShape, DRAWS_AT_ONCE} from './batch.js'
import {drawSeed, type Pair} from './pairs.js'
import type {VarianceCell} from './schema.js'

/** Stands for the projection of methods whose random features use none. */
export const NO_PROJECTION = 'none'

/** What is estimated, in the estimator's input space. */
export interface EstimateRequest extends Pair {
  cell: VarianceCell
  estimator: Estimator
  options: Record<string, unknown>
  calibration: CalibrationPairs
}

/** phi(x).phi(y) for every replicate. */
export function kernelEstimates(request: EstimateRequest, projection: string): Float64Array {
  const {replicates} = request.cell
  const out = new Float64Array(replicates)
  for (let first = 0; first < replicates; first += DRAWS_AT_ONCE) {
    const heads = Math.min(DRAWS_AT_ONCE, replicates - first)
    const {products} = hostData(() => {
      const draws = drawsOf(request, {projection, heads, replicate: first / DRAWS_AT_ONCE})
      const [query, key] = [features(request, draws, 'query'), features(request, draws, 'key')]
      return {products: tf.sum(tf.mul(query, key), [0, 2, 3])}
    })
    out.set(products, first)
  }
  return out
}

/** Which draws are estimated together. */
interface Batch {
  projection: string
  heads: number
  replicate: number
}

/** What both sides of a pair share. */
interface Draws {
  heads: number
  rows: Projection
  noise: Noise
}

function drawsOf({cell, estimator, options}: EstimateRequest, batch: Batch): Draws {
  const {heads, replicate} = batch
  const seed = {seed: drawSeed(cell), replicate}
  const noise = callNoise(estimator, batchShape(cell, heads), options, {}, seed)
  return {heads, rows: projectionOf(cell, batch), noise}
}

/** Of one side, `[1, h, 1, F]`. */
function features(
  {cell, estimator, options, calibration, x, y}: EstimateRequest,
  {heads, rows, noise}: Draws,
  side: 'query' | 'key',
): tf.Tensor4D {
  const vector = Float32Array.from(side === 'query' ? x : y)
  const one = tf.tensor4d(vector, [1, 1, 1, cell.head_dim])
  const repeated = tf.tile(one, [1, heads, 1, 1]) as tf.Tensor4D
  return estimator.kernel!.features(repeated, rows, options, {side, noise, calibration})
}

/** One matrix per draw, `[h, M, D]`; nothing for methods that do not look at it. */
function projectionOf(cell: VarianceCell, {projection, heads, replicate}: Batch): Projection {
  const {num_features: numFeatures, head_dim: headDim, orth_sign: orthSign} = cell
  if (projection === NO_PROJECTION) return tf.zeros<tf.Rank.R2>([1, headDim])
  const draw = {heads, numFeatures, headDim, seed: drawSeed(cell), replicate, orthSign}
  return projectionTensor({name: projection as ProjectionName, ...draw})
}
