/** One pair of vectors, one method, one budget: the kernel estimate over many draws of every projection. */
import * as tf from '@tensorflow/tfjs-core'
import {hostData} from '../../attention/host-data.js'
import {callNoise} from '../../attention/noise.js'
import {drawProjection, type ProjectionName} from '../../attention/projections/index.js'
import {orthonormalizeRows} from '../../attention/projections/orthogonal.js'
import type {Estimator, Projection} from '../../attention/types.js'
import {type BackendChoice, useBackend} from '../../backends/index.js'
import {normals, randomStream} from '../../random/index.js'
import type {VarianceCell, VarianceResult} from '../../results/schemas/index.js'
import {bootstrapInterval, mean, pairedRatioInterval, variance} from '../../stats/index.js'
import {FLOAT32_ROUNDOFF} from '../../theory/rounding.js'
import {computedBy} from '../computed-by.js'
import type {CellOutcome} from '../job.js'
import {resolveMethod} from '../method.js'

/** Draws estimated together, as heads of one tensor. */
const DRAWS_AT_ONCE = 64
/** Stands for the projection of methods whose random features use none. */
const NO_PROJECTION = 'none'

/** Runs one cell of a variance experiment. */
export async function runVarianceCell(cell: VarianceCell): Promise<CellOutcome<VarianceResult>> {
  const backend = await useBackend(cell.backend as BackendChoice)
  const {estimator, options, projected, random} = await resolveMethod(cell)
  const {kernel} = estimator
  if (!kernel || !random) return {status: 'skipped', reason: 'has no random features'}
  const {x, y} = pairOf(cell)
  const samples = new Map(
    (projected ? cell.projections : [NO_PROJECTION]).map(name => [
      name,
      kernelEstimates(cell, name, estimator, options),
    ]),
  )
  const expectation = kernel.expectation(x, y, options)
  const iid = samples.get('iid')
  const featureDim = estimator.featureDim(cell.num_features, cell.head_dim, options)
  return {
    status: 'completed',
    result: {
      ...computedBy(backend),
      feature_dim: featureDim,
      kernel: kernel.formula,
      expectation,
      closed_form_variance: kernel.variance(x, y, cell.num_features, options),
      per_projection: [...samples].map(([projection, estimates]) => ({
        projection,
        ...spread(estimates, expectation, {seed: cell.seed, featureDim}),
        ...ratioTo(projection === 'iid' ? undefined : iid, estimates, {
          seed: cell.seed,
          featureDim,
        }),
      })),
    },
  }
}

/**
 * Two vectors of the cell's norm at the cell's angle, in a plane that the seed chooses: not every
 * projection treats all directions alike, and the axes are special to some.
 */
export function pairOf({
  head_dim,
  norm,
  angle_deg,
  seed,
}: Pick<VarianceCell, 'head_dim' | 'norm' | 'angle_deg' | 'seed'>): {
  x: Float64Array
  y: Float64Array
} {
  const angle = (angle_deg * Math.PI) / 180
  const rows = Math.min(2, head_dim)
  const plane = orthonormalizeRows(
    normals(randomStream(seed, 'variance.plane'), rows * head_dim),
    head_dim,
  )
  const x = plane.slice(0, head_dim).map(e => norm * e)
  const across = rows === 2 ? plane.subarray(head_dim) : new Float64Array(1)
  const y = x.map((e, d) => Math.cos(angle) * e + norm * Math.sin(angle) * across[d]!)
  return {x, y}
}

/** phi(x).phi(y) for every replicate. */
function kernelEstimates(
  cell: VarianceCell,
  name: string,
  estimator: Estimator,
  options: Record<string, unknown>,
): Float64Array {
  const {num_features: numFeatures, head_dim: headDim, replicates, seed} = cell
  const {x, y} = pairOf(cell)
  const out = new Float64Array(replicates)
  for (let first = 0; first < replicates; first += DRAWS_AT_ONCE) {
    const heads = Math.min(DRAWS_AT_ONCE, replicates - first)
    const replicate = first / DRAWS_AT_ONCE
    const {products} = hostData(() => {
      const projection = projectionOf(cell, name, heads, replicate)
      const shape = {batch: 1, heads, queryLen: 1, keyLen: 1, headDim, valueDim: 1}
      const noise = callNoise(
        estimator,
        {...shape, numFeatures, causal: false},
        options,
        {},
        {seed, replicate},
      )
      const repeat = (vector: Float64Array) => {
        const one = tf.tensor4d(Float32Array.from(vector), [1, 1, 1, headDim])
        return tf.tile(one, [1, heads, 1, 1]) as tf.Tensor4D
      }
      const calibration = {query: repeat(x), key: repeat(y)}
      const features = (side: 'query' | 'key') =>
        estimator.kernel!.features(calibration[side], projection, options, {
          side,
          noise,
          calibration,
        }) // [1, h, 1, F]
      return {products: tf.sum(tf.mul(features('query'), features('key')), [0, 2, 3])}
    })
    out.set(products, first)
  }
  return out
}

/** One matrix per draw, `[h, M, D]`; nothing for methods that do not look at it. */
function projectionOf(
  {num_features: numFeatures, head_dim: headDim, seed, orth_sign: orthSign}: VarianceCell,
  name: string,
  heads: number,
  replicate: number,
): Projection {
  if (name === NO_PROJECTION) return tf.zeros<tf.Rank.R2>([1, headDim])
  const draw = {heads, numFeatures, headDim, seed, replicate, orthSign}
  const drawn = drawProjection({name: name as ProjectionName, ...draw})
  return tf.tensor3d(Float32Array.from(drawn), [heads, numFeatures, headDim])
}

/** Mean and spread of the estimates; no bias is stated where all they vary by is rounding. */
function spread(
  estimates: Float64Array,
  expectation: number,
  {seed, featureDim}: {seed: number; featureDim: number},
) {
  const average = mean(estimates)
  const spreadOf = variance(estimates)
  const interval = bootstrapInterval(estimates, variance, {seed, name: 'variance'})
  const standardError = Math.sqrt(spreadOf / estimates.length)
  const random = spreadOf > roundingVariance(estimates, featureDim)
  const meanSquare = mean(estimates.map(estimate => (estimate - expectation) ** 2))
  return {
    mean: average,
    bias_z: random ? (average - expectation) / standardError : null,
    variance: spreadOf,
    variance_low: interval.low,
    variance_high: interval.high,
    relative_mse: expectation === 0 ? null : meanSquare / expectation ** 2,
  }
}

/**
 * Variance over that of iid rows at the same M. Orthogonal rows are made from the same Gaussians as
 * the iid rows of the same replicate, so replicates are resampled as pairs. Null where the variance
 * of iid rows is zero but for rounding.
 */
function ratioTo(
  iid: Float64Array | undefined,
  estimates: Float64Array,
  {seed, featureDim}: {seed: number; featureDim: number},
) {
  const reference = iid && variance(iid)
  if (!iid || !reference || reference <= roundingVariance(iid, featureDim)) {
    return {ratio_to_iid: null, ratio_low: null, ratio_high: null}
  }
  const interval = pairedRatioInterval(estimates, iid, variance, {seed, name: 'ratio'})
  return {
    ratio_to_iid: variance(estimates) / reference,
    ratio_low: interval.low,
    ratio_high: interval.high,
  }
}

/** Square of the float32 rounding error of a sum of F terms of the estimates' size. */
function roundingVariance(estimates: Float64Array, featureDim: number): number {
  const size = mean(estimates.map(Math.abs))
  return (featureDim * FLOAT32_ROUNDOFF * size) ** 2
}
