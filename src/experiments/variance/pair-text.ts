/** How tables and labels name pairs of vectors, and the rows that estimate them. */
import {significant} from '../../report/numbers.js'
import type {VarianceCell, VarianceResult} from './schema.js'

/** What says where the vectors of a cell are. */
export type PairFields = Pick<
  VarianceCell,
  | 'norm'
  | 'key_norm'
  | 'angle_deg'
  | 'sum_norm'
  | 'difference_norm'
  | 'batch'
  | 'head'
  | 'query_index'
  | 'key_index'
>

/** The norm of both vectors, or those of x and y. */
export function normText({norm, key_norm: keyNorm, sum_norm: sum, head}: PairFields): string {
  if (sum !== undefined) return significant(norm)
  if (head !== undefined) return `${significant(norm)}, ${significant(keyNorm!)}`
  return keyNorm === undefined ? String(norm) : `${norm}, ${keyNorm}`
}

/** In degrees. */
export function angleText({angle_deg: angle, sum_norm: sum, head}: PairFields): string {
  return sum === undefined && head === undefined ? String(angle) : significant(angle)
}

/** As progress has it. */
export function pairText(pair: PairFields): string {
  const {batch, head, query_index: query, key_index: key} = pair
  if (head !== undefined) return `sequence ${batch} head ${head} query ${query} key ${key}`
  const {sum_norm: sum, difference_norm: difference} = pair
  if (sum !== undefined) return `|x+y| ${sum} |x-y| ${difference}`
  return `norm ${normText(pair)} angle ${angleText(pair)}`
}

/** A projection, and whether numbers are averages over directions: `sobol (all directions)`. */
export function rowsText({
  projection,
  all_directions: all,
}: Pick<VarianceResult['per_projection'][number], 'projection' | 'all_directions'>): string {
  return all ? `${projection} (all directions)` : projection
}
