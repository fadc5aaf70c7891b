/** Where the draws of a row are made: as its projection has them, or where the products of rows have their moments. */
import {drawnTilted, drawnTiltedTurned} from '../../../attention/internal.js'
import {isTiltable, type RowTilt} from '../../../theory/row-tilt.js'
import type {Pair} from '../pairs.js'
import {mostDraws} from '../schema.js'
import {NO_PROJECTION} from './batch.js'
import type {EstimateRequest, Tilted} from './estimates.js'

/** Fewer draws leave too few of each law to know their spread. */
const LEAST_TILTED = 30

/**
 * Draws with weights that stand for R of rows as they are: a third, at first. They know a variance at least as well from
 * |x + y|^2 = 1 on, and to `sqrt(6 / R)` everywhere.
 */
export function tiltedDraws(replicates: number): number {
  return Math.ceil(replicates / 3)
}

/**
 * How the rows of a projection are tilted for a pair; `undefined` where they are drawn as they are: products are bounded or
 * their tail is not known, signs are raw, or draws are few. Where rows are given by their coordinates in the plane of the
 * pair and their law knows no direction, they are drawn by these; else as whole matrices under a rotation.
 */
export function tiltedBy(request: EstimateRequest, projection: string): Tilted | undefined {
  const {cell, estimator, options, x, y, calibration} = request
  const {kernel} = estimator
  if (projection === NO_PROJECTION || tiltedDraws(mostDraws(cell)) < LEAST_TILTED) return undefined
  const {num_features: numFeatures, head_dim: headDim, orth_sign: orthSign} = cell
  if (!kernel || kernel.bounded) return undefined
  const tilt = kernel.tilt?.(x, y, {numFeatures, options, calibration}) ?? tiltOf(request)
  if (!tilt || !(tilt.squaredNorm > 0) || !isTiltable(tilt, headDim)) return undefined
  const columns = kernel.rowsBy && (kernel.rowsBy === 'products' ? 2 : 3)
  const plane = columns && columns < headDim ? columns : undefined
  const along = tilt.direction ?? alongOf(tilt, plane ? request.inPlane : request)
  if (plane && drawnTilted(projection, {orthSign, headDim, columns: plane})) {
    return {tilt, along, plane, whole: false}
  }
  return drawnTiltedTurned(projection, orthSign) ? {tilt, along, plane, whole: true} : undefined
}

/** z by the coordinates of a pair. */
function alongOf({squaredNorm}: RowTilt, {x, y}: Pair): Float64Array {
  const sum = x.map((entry, d) => entry + y[d]!)
  const scale = Math.sqrt(squaredNorm) / Math.hypot(...sum)
  return sum.map(entry => scale * entry)
}

/** Of products that are functions of w.z alone. */
function tiltOf({estimator, options, x, y}: EstimateRequest): RowTilt | undefined {
  const product = estimator.kernel!.product?.(x, y, options)
  if (!product || product.shape === 'cos') return undefined
  const {shape, squaredNorm, sphere} = product
  return {squaredNorm, even: shape === 'cosh', ...(sphere && {sphere})}
}
