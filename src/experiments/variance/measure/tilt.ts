/** Where the draws of a row are made: as its projection has them, or where the products of rows have their moments. */
import {drawnTilted} from '../../../attention/internal.js'
import {isTiltable, type RowTilt} from '../../../theory/row-tilt.js'
import {mostDraws} from '../schema.js'
import {NO_PROJECTION} from './batch.js'
import type {EstimateRequest, Tilted} from './estimates.js'

/** Fewer draws leave too few of each law to know their spread. */
const LEAST_TILTED = 30

/**
 * Draws with weights that stand for R of rows as they are: a third. They know a variance at least as well from
 * |x + y|^2 = 1 on, and to `sqrt(6 / R)` everywhere.
 */
export function tiltedDraws(replicates: number): number {
  return Math.ceil(replicates / 3)
}

/**
 * How the rows of a projection are tilted for a pair; `undefined` where they are drawn as they are: products are bounded or
 * their tail is not known, the law of the rows knows directions, or draws are few.
 */
export function tiltedBy(request: EstimateRequest, projection: string): Tilted | undefined {
  const {cell, estimator, options, x, y, calibration, inPlane} = request
  const {kernel} = estimator
  if (projection === NO_PROJECTION || tiltedDraws(mostDraws(cell)) < LEAST_TILTED) return undefined
  const {num_features: numFeatures, head_dim: headDim, orth_sign: orthSign} = cell
  if (!kernel?.rowsBy || kernel.bounded) return undefined
  const columns = kernel.rowsBy === 'products' ? 2 : 3
  if (!drawnTilted(projection, {orthSign, headDim, columns})) return undefined
  const tilt = kernel.tilt?.(x, y, {numFeatures, options, calibration}) ?? tiltOf(request)
  if (!tilt || !(tilt.squaredNorm > 0) || !isTiltable(tilt, headDim)) return undefined
  const [a, b] = [inPlane.x[0]! + inPlane.y[0]!, inPlane.x[1]! + inPlane.y[1]!]
  const scale = Math.sqrt(tilt.squaredNorm) / Math.hypot(a, b)
  return {tilt, along: [scale * a, scale * b], columns}
}

/** Of products that are functions of w.z alone. */
function tiltOf({estimator, options, x, y}: EstimateRequest): RowTilt | undefined {
  const product = estimator.kernel!.product?.(x, y, options)
  if (!product || product.shape === 'cos') return undefined
  const {shape, squaredNorm, sphere} = product
  return {squaredNorm, even: shape === 'cosh', ...(sphere && {sphere})}
}
