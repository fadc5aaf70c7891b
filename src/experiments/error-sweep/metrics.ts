/** Distances between an estimate and the exact output, per head and over heads. */

/** Metrics of one replicate over one head or all. Entries that are not finite make distances NaN. */
export interface ErrorMetrics {
  mse: number
  rel_l2: number
  rel_l1: number
  max_abs: number
  cosine: number
  not_finite_pct: number
}

/**
 * Compares rows `[rows, dim]` of an estimate with the exact ones.
 *
 * - `mse`: mean squared difference; `rel_l2`, `rel_l1`: norm of the difference over the norm of the
 *   exact output, all rows together; `max_abs`: largest difference; `cosine`: mean over rows of the
 *   cosine between estimate and exact row; `not_finite_pct`: share of entries that are NaN or infinite.
 */
export function errorMetrics(
  estimate: ArrayLike<number>,
  exact: Float64Array,
  dim: number,
): ErrorMetrics {
  let squares = 0
  let exactSquares = 0
  let absolutes = 0
  let exactAbsolutes = 0
  let largest = 0
  let cosines = 0
  let notFinite = 0
  const length = exact.length
  for (let start = 0; start < length; start += dim) {
    let inner = 0
    let estimateNorm = 0
    let exactNorm = 0
    for (let i = start; i < start + dim; i++) {
      const a = estimate[i]!
      const b = exact[i]!
      const difference = a - b
      squares += difference * difference
      absolutes += Math.abs(difference)
      if (!(Math.abs(difference) <= largest)) largest = Math.abs(difference)
      if (!Number.isFinite(a)) notFinite++
      exactAbsolutes += Math.abs(b)
      inner += a * b
      estimateNorm += a * a
      exactNorm += b * b
    }
    exactSquares += exactNorm
    const lengths = Math.sqrt(estimateNorm * exactNorm)
    cosines += lengths === 0 ? (estimateNorm === exactNorm ? 1 : 0) : inner / lengths
  }
  return {
    mse: squares / length,
    rel_l2: Math.sqrt(squares / exactSquares),
    rel_l1: absolutes / exactAbsolutes,
    max_abs: notFinite > 0 ? Number.NaN : largest,
    cosine: cosines / (length / dim),
    not_finite_pct: (100 * notFinite) / length,
  }
}

/** Distances between rows of attention weights. */
export interface RowMetrics {
  row_kl_nats: number
  row_total_variation: number
  row_kl_infinite_pct: number
}

/**
 * Compares rows of estimated weights with exact ones, both `[rows, keys]`.
 *
 * KL divergence of the exact row from the estimated one is infinite where an estimated weight is
 * not positive while the exact one is; such rows are counted and left out of the mean. Exact weights
 * below 2^-24 of the row count as zero: a float32 estimate cannot tell them from zero.
 */
export function rowMetrics(
  estimate: ArrayLike<number>,
  exact: Float64Array,
  keys: number,
): RowMetrics {
  const rows = exact.length / keys
  let divergence = 0
  let variation = 0
  let infinite = 0
  for (let row = 0; row < rows; row++) {
    let kl = 0
    let difference = 0
    for (let i = row * keys; i < (row + 1) * keys; i++) {
      const p = exact[i]!
      const q = estimate[i]!
      difference += Math.abs(p - q)
      if (p > 2 ** -24) kl += q > 0 ? p * Math.log(p / q) : Infinity
    }
    variation += difference / 2
    if (Number.isFinite(kl)) divergence += kl
    else infinite++
  }
  return {
    row_kl_nats: infinite === rows ? Number.NaN : divergence / (rows - infinite),
    row_total_variation: variation / rows,
    row_kl_infinite_pct: (100 * infinite) / rows,
  }
}
