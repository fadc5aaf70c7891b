/** Distances between an estimate and the exact output, per head and over heads, by the loops of the backend where it has some. */
import {type ErrorSums, type ErrorSumsCall, hostLoops} from '../../../host-loops.js'
import type {OutputMetrics} from '../replicate-metrics.js'

/** Metrics of one replicate over one head or several. Entries that are not finite make distances NaN. */
export type ErrorMetrics = Omit<OutputMetrics, 'negative_denominators_pct' | 'guarded_pct'> & {
  token_mean_rel_l2: number
}

/** Sums over the exact output of one head, `[L, Dv]`. */
export interface ExactSums {
  rows: number
  valueDim: number
  squares: number
  absolutes: number
  /** Squared length of the mean over rows. */
  meanSquares: number
}

/** The exact output's side of the metrics, per head. @param exact - `[heads, L, Dv]` */
export function exactSums(exact: Float64Array, heads: number, valueDim: number): ExactSums[] {
  const size = exact.length / heads
  const rows = size / valueDim
  return Array.from({length: heads}, (_, head) => {
    let squares = 0
    let absolutes = 0
    const rowsSum = new Float64Array(valueDim)
    for (let i = head * size; i < (head + 1) * size; i++) {
      squares += exact[i]! * exact[i]!
      absolutes += Math.abs(exact[i]!)
      rowsSum[i % valueDim]! += exact[i]!
    }
    return {rows, valueDim, squares, absolutes, meanSquares: meanSquares(rowsSum, rows)}
  })
}

/** Squared length of the mean of some rows. @param rowsSum - their sum */
function meanSquares(rowsSum: Float64Array, rows: number): number {
  let squares = 0
  for (let d = 0; d < rowsSum.length; d++) squares += (rowsSum[d]! / rows) ** 2
  return squares
}

/**
 * Metrics over heads taken together, from the sums of each.
 *
 * - `mse`: mean squared difference; `rel_l2`, `rel_l1`: norm of the difference over the norm of the
 *   exact output, all rows together; `token_mean_rel_l2`: the same as `rel_l2` of the mean over rows of each head; `max_abs`: largest difference; `cosine`: mean over rows of the
 *   cosine between estimate and exact row; `row_sum_deviation`: mean over rows of |sum of weights - 1|; `not_finite_pct`: share of
 *   entries that are NaN or infinite.
 */
export function errorMetrics(
  sums: readonly ErrorSums[],
  exact: readonly ExactSums[],
): ErrorMetrics {
  let squares = 0
  let absolutes = 0
  let largest = 0
  let cosines = 0
  let deviations = 0
  let notFinite = 0
  let means = 0
  let rows = 0
  let entries = 0
  let exactSquares = 0
  let exactAbsolutes = 0
  let exactMeans = 0
  // one plain loop: closures and patterns here took a third of the time that compiling a short run took
  for (let head = 0; head < sums.length; head++) {
    const own = sums[head]!
    const truth = exact[head]!
    squares += own.squares
    absolutes += own.absolutes
    largest = Math.max(largest, own.largest) // NaN where one is
    cosines += own.cosines
    deviations += own.rowSumDeviations
    notFinite += own.notFinite
    means += meanSquares(own.rowsSum, truth.rows)
    rows += truth.rows
    entries += truth.rows * truth.valueDim
    exactSquares += truth.squares
    exactAbsolutes += truth.absolutes
    exactMeans += truth.meanSquares
  }
  return {
    mse: squares / entries,
    rel_l2: Math.sqrt(squares / exactSquares),
    rel_l1: absolutes / exactAbsolutes,
    token_mean_rel_l2: Math.sqrt(means / exactMeans),
    max_abs: largest,
    cosine: cosines / rows,
    row_sum_deviation: deviations / rows,
    not_finite_pct: (100 * notFinite) / entries,
  }
}

/** Sums per head of an estimate against the exact output, which is taken into the running means. */
export function errorSums(call: ErrorSumsCall): ErrorSums[] {
  const own = hostLoops().errorSums
  if (own) return own(call)
  const rows = call.exact.length / call.valueDim / call.heads
  return Array.from({length: call.heads}, (_, head) => headSums(call, head * rows, rows))
}

/** The definition: one entry after the other. */
function headSums(call: ErrorSumsCall, firstRow: number, rows: number): ErrorSums {
  const {estimate, valueDim: dim, group, groupStep} = call
  const sums: ErrorSums = {
    ...{squares: 0, absolutes: 0, largest: 0, cosines: 0, notFinite: 0},
    ...{rowSumDeviations: 0, spread: 0, rowsSum: new Float64Array(dim)},
  }
  for (let row = firstRow; row < firstRow + rows; row++) {
    addRow(sums, call, row)
    sums.rowSumDeviations += Math.abs(estimate[row * (dim + 1) + dim]! - 1)
    if (group && row % groupStep === 0) addToGroup(call, group, row)
  }
  if (sums.notFinite > 0) sums.largest = Number.NaN
  return sums
}

/** Differences of one row, its cosine, and its part of the running mean. Numbers of objects are slow to add to: once a row. */
function addRow(
  sums: ErrorSums,
  {estimate, exact, valueDim: dim, mean, count}: ErrorSumsCall,
  row: number,
): void {
  const share = 1 / count
  const {rowsSum} = sums
  let [squares, absolutes, spread, notFinite, largest] = [0, 0, 0, 0, sums.largest]
  let [inner, estimateNorm, exactNorm] = [0, 0, 0]
  for (let d = 0; d < dim; d++) {
    const at = row * dim + d
    const a = estimate[at + row]!
    const b = exact[at]!
    const difference = a - b
    const magnitude = Math.abs(difference)
    const before = difference - mean[at]!
    mean[at]! += before * share
    spread += before * (difference - mean[at]!)
    rowsSum[d]! += difference
    squares += difference * difference
    absolutes += magnitude
    if (!(magnitude <= largest)) largest = magnitude
    if (!Number.isFinite(a)) notFinite++
    inner += a * b
    estimateNorm += a * a
    exactNorm += b * b
  }
  const lengths = Math.sqrt(estimateNorm * exactNorm)
  sums.cosines += lengths === 0 ? (estimateNorm === exactNorm ? 1 : 0) : inner / lengths
  sums.squares += squares
  sums.absolutes += absolutes
  sums.spread += spread
  sums.notFinite += notFinite
  sums.largest = largest
}

function addToGroup(
  {estimate, exact, valueDim: dim, groupStep}: ErrorSumsCall,
  group: Float32Array,
  row: number,
): void {
  const at = (row / groupStep) * dim
  for (let d = 0; d < dim; d++) {
    group[at + d]! += estimate[row * (dim + 1) + d]! - exact[row * dim + d]!
  }
}

/**
 * Inner products of all pairs of vectors, by the loop of the backend where it has one.
 *
 * @param vectors - `[count, n]`
 * @returns the product of j and i at `j (j - 1) / 2 + i`, i < j
 */
export function pairProducts(vectors: Float32Array, count: number): Float64Array {
  const own = hostLoops().pairProducts
  if (own) return own(vectors, count)
  const length = vectors.length / count
  const vector = (at: number) => vectors.subarray(at * length, (at + 1) * length)
  const products = new Float64Array((count * (count - 1)) / 2)
  let at = 0
  for (let j = 1; j < count; j++) {
    for (let i = 0; i < j; i++) products[at++] = dot(vector(j), vector(i))
  }
  return products
}

/** Four sums side by side, which need not wait for each other. */
export function dot(a: Float32Array, b: Float32Array): number {
  const whole = a.length & ~3
  let [s0, s1, s2, s3] = [0, 0, 0, 0]
  for (let i = 0; i < whole; i += 4) {
    s0 += a[i]! * b[i]!
    s1 += a[i + 1]! * b[i + 1]!
    s2 += a[i + 2]! * b[i + 2]!
    s3 += a[i + 3]! * b[i + 3]!
  }
  for (let i = whole; i < a.length; i++) s0 += a[i]! * b[i]!
  return s0 + s1 + (s2 + s3)
}
