/** Distances between an estimate and the exact output, per head and over heads. */
import type {ErrorSums} from '../../../host-loops.js'
import type {OutputSizes} from './moments.js'

/** Metrics of one replicate over one head or all. Entries that are not finite make distances NaN. */
export interface ErrorMetrics {
  mse: number
  rel_l2: number
  rel_l1: number
  max_abs: number
  cosine: number
  not_finite_pct: number
}

/** Sums over the exact output of one head, `[L, Dv]`. */
export interface ExactSums {
  rows: number
  valueDim: number
  squares: number
  absolutes: number
}

/** The exact output's side of the metrics, per head. @param exact - `[heads, L, Dv]` */
export function exactSums(exact: Float64Array, heads: number, valueDim: number): ExactSums[] {
  const size = exact.length / heads
  return Array.from({length: heads}, (_, head) => {
    let squares = 0
    let absolutes = 0
    for (let i = head * size; i < (head + 1) * size; i++) {
      squares += exact[i]! * exact[i]!
      absolutes += Math.abs(exact[i]!)
    }
    return {rows: size / valueDim, valueDim, squares, absolutes}
  })
}

/** Heads one after the other that have equally many rows, together. */
export function runsOfHeads(exact: readonly ExactSums[]): OutputSizes[] {
  const runs: OutputSizes[] = []
  for (const {rows: queryLen, valueDim} of exact) {
    const run = runs.at(-1)
    if (run?.queryLen === queryLen) run.heads++
    else runs.push({heads: 1, queryLen, valueDim})
  }
  return runs
}

/**
 * Metrics over heads taken together, from the sums of each.
 *
 * - `mse`: mean squared difference; `rel_l2`, `rel_l1`: norm of the difference over the norm of the
 *   exact output, all rows together; `max_abs`: largest difference; `cosine`: mean over rows of the
 *   cosine between estimate and exact row; `not_finite_pct`: share of entries that are NaN or infinite.
 */
export function errorMetrics(
  sums: readonly ErrorSums[],
  exact: readonly ExactSums[],
): ErrorMetrics {
  const of = (name: 'squares' | 'absolutes' | 'cosines' | 'notFinite') => total(sums, s => s[name])
  const rows = total(exact, e => e.rows)
  const entries = total(exact, e => e.rows * e.valueDim)
  return {
    mse: of('squares') / entries,
    rel_l2: Math.sqrt(of('squares') / total(exact, e => e.squares)),
    rel_l1: of('absolutes') / total(exact, e => e.absolutes),
    max_abs: Math.max(...sums.map(s => s.largest)), // NaN where one is
    cosine: of('cosines') / rows,
    not_finite_pct: (100 * of('notFinite')) / entries,
  }
}

/** Mean over rows of |sum of weights - 1|. */
export function rowSumDeviation(sums: readonly ErrorSums[], exact: readonly ExactSums[]): number {
  return total(sums, s => s.rowSumDeviations) / total(exact, e => e.rows)
}

function total<Item>(items: readonly Item[], of: (item: Item) => number): number {
  return items.reduce((sum, item) => sum + of(item), 0)
}
