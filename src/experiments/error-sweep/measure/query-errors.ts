/** Errors of single queries, and what share of queries has how large a one. */
import {QUERY_QUANTILES, type QueryMetrics} from '../replicate-metrics.js'
import type {ExactSums} from './metrics.js'

/** Parts of equal length that a sequence is divided into. */
export const POSITIONS = 8

/** Queries of an output that are looked at, at most: of more, evenly spaced ones stand for all. */
const MOST_QUERIES = 2 ** 14

/** The quantiles of one replicate. */
export interface ReplicateQueries extends QueryMetrics {
  /** The median error of each part of the sequences, from the first tokens to the last. Absent: not asked for. */
  positions: readonly number[] | undefined
}

/**
 * The error of a query is |estimate - exact| / |exact|, norms of its row of outputs. Where the exact row is zero, it is 0 if the
 * estimate is zero, too, and infinite otherwise; so it is where the estimate is not finite.
 *
 * A quantile is the smallest error that at least that share of the queries does not exceed: infinite ones do not spoil it.
 */
export class QueryErrors {
  private readonly valueDim: number
  /** Rows of the output that are looked at, by position. */
  private readonly rows: Int32Array
  /** Norms of these exact rows. */
  private readonly norms: Float64Array
  /** Where the rows of each position begin, and where the last ones end. */
  private readonly starts: readonly number[]

  /**
   * @param exact - the exact output, `[heads, L, Dv]`, heads one after the other
   * @param heads - its heads, which may have different numbers of queries
   * @param byPosition - whether medians by position are wanted
   */
  constructor(
    private readonly exact: Float64Array,
    heads: readonly Pick<ExactSums, 'rows' | 'valueDim'>[],
    private readonly byPosition: boolean,
  ) {
    this.valueDim = heads[0]!.valueDim
    const positions = rowsByPosition(heads.map(({rows}) => rows))
    this.rows = Int32Array.from(positions.flat())
    this.norms = Float64Array.from(this.rows, row => this.norm(row))
    let end = 0
    this.starts = [0, ...positions.map(({length}) => (end += length))]
  }

  private norm(row: number): number {
    const {exact, valueDim: dim} = this
    let squares = 0
    for (let at = row * dim; at < (row + 1) * dim; at++) squares += exact[at]! * exact[at]!
    return Math.sqrt(squares)
  }

  /** @param estimate - one replicate, `[heads, L, Dv + 1]`: the last column is the sum of a row's weights */
  of(estimate: Float32Array): ReplicateQueries {
    const errors = this.errors(estimate)
    const positions = this.byPosition ? this.medians(errors) : undefined
    const {query_error_p50, query_error_p90, query_error_p99} = QUERY_QUANTILES
    return {
      positions,
      query_error_p50: quantile(errors, query_error_p50),
      query_error_p90: quantile(errors, query_error_p90),
      query_error_p99: quantile(errors, query_error_p99),
    }
  }

  private medians(errors: Float64Array): number[] {
    return Array.from({length: POSITIONS}, (_, at) =>
      quantile(errors.slice(this.starts[at], this.starts[at + 1]), 0.5),
    )
  }

  private errors(estimate: Float32Array): Float64Array {
    const {exact, rows, norms, valueDim: dim} = this
    const errors = new Float64Array(rows.length)
    for (let at = 0; at < errors.length; at++) {
      const row = rows[at]!
      let squares = 0
      for (let to = row * dim; to < (row + 1) * dim; to++) {
        const difference = estimate[to + row]! - exact[to]!
        squares += difference * difference
      }
      const error = squares === 0 ? 0 : Math.sqrt(squares) / norms[at]!
      errors[at] = Number.isNaN(error) ? Number.POSITIVE_INFINITY : error
    }
    return errors
  }
}

/** The rows of each position, evenly spaced ones if there are many. @param lengths - queries of each head */
function rowsByPosition(lengths: readonly number[]): number[][] {
  const total = lengths.reduce((sum, length) => sum + length, 0)
  const step = Math.ceil(total / MOST_QUERIES)
  const positions = Array.from({length: POSITIONS}, (): number[] => [])
  let [first, next] = [0, 0]
  for (const length of lengths) {
    for (; next < first + length; next += step) {
      positions[Math.floor((POSITIONS * (next - first)) / length)]!.push(next)
    }
    first += length
  }
  return positions
}

/** Of numbers that it puts in another order, none of them `NaN`; `NaN` of no number. */
function quantile(numbers: Float64Array, share: number): number {
  const place = Math.max(0, Math.ceil(share * numbers.length) - 1)
  placeInOrder(numbers, place)
  return numbers[place] ?? Number.NaN
}

/** Moves the number of one place of the ascending order there, smaller ones before it: Hoare's selection, a third of the time of a sort. */
function placeInOrder(numbers: Float64Array, place: number): void {
  let [low, high] = [0, numbers.length - 1]
  while (low < high) {
    const middle = numbers[(low + high) >> 1]!
    let [i, j] = [low, high]
    while (i <= j) {
      while (numbers[i]! < middle) i++
      while (numbers[j]! > middle) j--
      if (i > j) break
      const swapped = numbers[i]!
      numbers[i++] = numbers[j]!
      numbers[j--] = swapped
    }
    if (place <= j) high = j
    else if (place >= i) low = i
    else return
  }
}

const known = new WeakMap<Float64Array, QueryErrors>()

/** The same for all cells that are held against one exact output. @param causal - whether positions matter */
export function queryErrorsOf(
  exact: Float64Array,
  heads: readonly ExactSums[],
  causal: boolean,
): QueryErrors {
  const found = known.get(exact) ?? new QueryErrors(exact, heads, causal)
  known.set(exact, found)
  return found
}
