/** The yardstick of a sweep: averaging the values in view, which needs no attention. */
import {type AttentionInput, sizesOf} from '../../../inputs/attention-input.js'
import {averageRoundingMse} from '../../../theory/rounding.js'

/** What averaging V gets wrong in one head of one batch element. */
export interface Yardstick {
  /** L, queries that are judged. */
  rows: number
  mse: number
  /** What rounding can make of a mean that is exact. */
  rounding: number
}

/**
 * Mean squared error of the mean of the values in view of each query, for every head.
 *
 * @param exact - `[B H, L, Dv]`
 * @param causal - query i has the keys j <= i in view
 */
export function yardsticks(
  input: AttentionInput,
  exact: Float64Array,
  causal: boolean,
): Yardstick[] {
  const {batch, heads, queryLen, keyLen, valueDim} = sizesOf(input)
  const part = <Data extends Float32Array | Float64Array>(
    data: Data,
    head: number,
    length: number,
  ) => data.subarray(head * length * valueDim, (head + 1) * length * valueDim) as Data
  return Array.from({length: batch * heads}, (_, head) => {
    const values = part(input.value.data, head, keyLen)
    return {
      rows: queryLen,
      mse: meanValueMse(values, part(exact, head, queryLen), valueDim, causal),
      rounding: averageRoundingMse(values, keyLen),
    }
  })
}

/** Over all heads together, each counting by its rows. */
export function overall(heads: readonly Yardstick[]): Omit<Yardstick, 'rows'> {
  const of = (name: 'mse' | 'rounding') =>
    meanByRows(
      heads,
      heads.map(head => head[name]),
    )
  return {mse: of('mse'), rounding: of('rounding')}
}

/** The mean of numbers of heads, each counting by its rows. */
export function meanByRows(
  heads: readonly Pick<Yardstick, 'rows'>[],
  numbers: readonly number[],
): number {
  const mean = heads.reduce((sum, {rows}) => sum + rows, 0) / heads.length
  const weighted = numbers.reduce((sum, x, i) => sum + x * (heads[i]!.rows / mean), 0)
  return weighted / heads.length
}

/** Median error over the yardstick's; null where averaging V is exact up to rounding: that would only compare roundings. */
export function overYardstick(
  value: number | null,
  {mse, rounding}: Omit<Yardstick, 'rows'>,
): number | null {
  return value === null || mse <= rounding ? null : value / mse
}

/** Of one head. @param values - `[S, Dv]` @param exact - `[L, Dv]` */
function meanValueMse(
  values: Float32Array,
  exact: Float64Array,
  dim: number,
  causal: boolean,
): number {
  const keyLen = values.length / dim
  const sum = new Float64Array(dim)
  let squares = 0
  let seen = 0
  for (let row = 0; row * dim < exact.length; row++) {
    const inView = causal ? Math.min(row + 1, keyLen) : keyLen
    for (; seen < inView; seen++) {
      for (let d = 0; d < dim; d++) sum[d]! += values[seen * dim + d]!
    }
    for (let d = 0; d < dim; d++) squares += (sum[d]! / inView - exact[row * dim + d]!) ** 2
  }
  return squares / exact.length
}
