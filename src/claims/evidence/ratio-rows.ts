/** Variances with what theory says of them. */
import type {ProjectionName} from '../../attention/names.js'
import type {CompletedVariance} from '../../experiments/variance/schema.js'
import {Unmeasured} from '../runs.js'
import {bonferroni, twoSided} from './tests.js'

/** A measured variance over the one expected, on a logarithmic scale. */
interface RatioRow {
  /** The variance itself. */
  variance: number
  /** `ln(variance / expected)` */
  log: number
  /** Standard error of that. */
  error: number
}

/**
 * The variance of a projection in a cell.
 *
 * @param against.expected - what it is held against. Default: the closed form of i.i.d. rows
 * @throws {Unmeasured} where it was withheld, with the draws that it takes
 */
export function ratioRow(
  {cell, result}: CompletedVariance,
  {
    expected = result.closed_form_variance ?? Number.NaN,
    projection = 'iid',
  }: {expected?: number; projection?: ProjectionName} = {},
): RatioRow {
  const row = result.per_projection.find(one => one.projection === projection)
  if (row?.variance == null || row.variance_relative_standard_error === null) {
    const pair = `norm ${cell.norm}, angle ${cell.angle_deg}`
    const why = row?.withheld ?? `no projection ${projection}`
    throw new Unmeasured(
      `${cell.method} at ${pair}: ${why}; it takes ${row?.needed_replicates ?? 'unknown'} draws`,
    )
  }
  const {variance, variance_relative_standard_error: error} = row
  return {variance, log: Math.log(variance / expected), error}
}

/** The row farthest from what was expected, and how likely such a distance is among all rows. */
export function worstZ(rows: readonly RatioRow[]): {z: number; p: number} {
  const z = Math.max(...rows.map(({log, error}) => Math.abs(log) / error))
  return {z, p: bonferroni(twoSided(z), rows.length)}
}
