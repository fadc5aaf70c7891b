/** What theory says of the rows of one projection. */
import type {KernelFacts} from '../../../attention/internal.js'
import {finiteOrNull} from '../../../stats/index.js'
import {
  type BlockShape,
  DEPENDENT_ROWS,
  type DependentRows,
  ratioToIid,
} from '../../../theory/dependent-rows.js'
import {orthogonalBoundRatio} from '../../../theory/orthogonality-bounds.js'
import type {RowProduct} from '../../../theory/row-product.js'
import type {VarianceResult} from '../schema.js'
import {NO_PROJECTION} from './batch.js'
import type {EstimateRequest} from './estimates.js'

/** Closed forms other than for i.i.d. rows. */
export interface Exact {
  /** Variance over that of i.i.d. rows: 1 for those themselves; `null` where none is known. */
  ratio: number | null
  /** Upper bound on that ratio; `null` where no theorem has one. */
  bound: number | null
}

/** Where nothing varies there is no ratio. */
export const NOTHING_KNOWN: Exact = {ratio: null, bound: null}

/** The closed forms of a projection's rows. @param projection - or {@link NO_PROJECTION} */
export function exactOf(request: EstimateRequest, projection: string): Exact {
  const {cell, estimator, options, x, y} = request
  if (isIndependent(projection)) return {ratio: 1, bound: null}
  // raw signs leave rows orthogonal, but no rotation of the block uniform
  if (!isKnown(projection) || cell.orth_sign !== 'haar') return NOTHING_KNOWN
  const kernel = estimator.kernel as KernelFacts<Record<string, unknown>>
  const product = kernel.product?.(x, y, options)
  if (!product) return NOTHING_KNOWN
  const size = {headDim: cell.head_dim, numFeatures: cell.num_features}
  const ratio = ratioToIid(projection, product, size)
  return {
    ratio: Number.isNaN(ratio) ? null : ratio,
    bound: projection === 'orth' ? boundOf(product, size) : null,
  }
}

type ResultRow = VarianceResult['per_projection'][number]

/** What a row of the result says of theory. */
export type ExactFields = Pick<
  ResultRow,
  'exact_variance' | 'exact_z' | 'exact_ratio' | 'theorem_bound'
>

/** The fields of a row. @param variance - that of i.i.d. rows */
export function exactFields(
  {ratio, bound}: Exact,
  variance: number,
  row: Pick<ResultRow, 'projection' | 'variance' | 'variance_relative_standard_error'>,
): ExactFields {
  const exact = ratio === null ? null : finiteOrNull(ratio * variance)
  const {variance: measured, variance_relative_standard_error: error} = row
  const compared = exact !== null && exact > 0 && measured !== null && error !== null
  return {
    exact_variance: exact,
    exact_z: compared ? finiteOrNull(Math.log(measured / exact) / error) : null,
    exact_ratio: isIndependent(row.projection) ? null : ratio,
    theorem_bound: bound === null ? null : finiteOrNull(bound * variance),
  }
}

/** Rows that do not depend on each other: all that `closed_form_variance` is about. */
export function isIndependent(projection: string): boolean {
  return projection === 'iid' || projection === NO_PROJECTION
}

function isKnown(projection: string): projection is DependentRows {
  return (DEPENDENT_ROWS as readonly string[]).includes(projection)
}

/** Theorem 2 is one of positive features with rows of chi lengths. */
function boundOf({shape, squaredNorm, sphere}: RowProduct, size: BlockShape): number | null {
  if (shape !== 'exp' || sphere || !(squaredNorm > 0)) return null
  return orthogonalBoundRatio(squaredNorm, size)
}
