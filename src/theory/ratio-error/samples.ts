/**
 * Random rows as the sampled queries see them. Weights of a row are anything between nothing and 1e40 times the mean,
 * so that rows of N(0, I) alone never show what decides a query's output: others are drawn where the weight is, and
 * each sample counts by its share of N(0, I) under the mixture that all were drawn from (the balance heuristic).
 *
 * Source: Veach & Guibas 1995, section 3.3; rows where the weight is: Zheng et al. 2022, arXiv:2204.04667, section 3.
 */
import {normals, type RandomStream, randomStream} from '../../random/index.js'
import {dotAt, type ExactRows, exactRows, halfSquares, sampledQueries} from './queries.js'
import type {PositiveHead, SampledQueries} from './types.js'
import {votesByView} from './votes.js'

/** Samples of one head; the first half of the rows and the second are independent. */
export interface RatioSamples {
  /** Sampled queries and their exact outputs, `[R, Dv]`. */
  queries: SampledQueries
  exact: Float64Array
  /** Rows, an even number. */
  count: number
  /** ln of the share of N(0, I) that each row stands for, `[count]`; those of a half sum to one. */
  logShare: Float64Array
  /** ln of a row's weight over its mean, rho, `[R, count]`. */
  logRho: Float64Array
  /** What a row says, f, `[count, views, Dv]`; `viewOf` of the queries. */
  says: Float64Array
}

/**
 * @param queries - how many queries stand for all; for each, rows are two of each level and of N(0, I)
 * @param seed - of the draws; the same gives the same samples
 */
export function ratioSamples(head: PositiveHead, queries: number, seed: number): RatioSamples {
  const stream = randomStream(seed, 'error-prediction')
  const sampled = sampledQueries(head, queries)
  const levels = levelsOf(head, sampled)
  const exact = exactRows(head, sampled, {levels, picks: HALVES, stream})
  const drawing = {head, queries: sampled, exact, levels}
  const rows = drawnRows(drawing, stream)
  const weighed = weighedRows(drawing, rows)
  const count = rows.length / head.headDim
  const {logRho, says, views} = weighed
  return {
    queries: {...sampled, viewOf: views},
    exact: exact.output,
    count,
    logShare: logShares(weighed.logMixture),
    logRho,
    says,
  }
}

const HALVES = 2

/** Steps of c |x + y| between levels: rows of neighbours overlap, being 2 standard deviations apart. */
const STEP = 2
/** c |x + y| beyond which rows are too rare to be drawn among any M: the density is `exp(-8^2/2)` of that of N(0, I). */
const REACH = 8

/**
 * Factors c on queries and keys under which random rows are drawn, in addition to rows of N(0, I). The row of M
 * that counts most for a query lies at `|c (x + y)|` of about `sqrt(2 ln M)`; factor 1 draws the rows with most of
 * the weight, however rare they are.
 *
 * @returns 1, then the others from the largest to the least
 */
function levelsOf({query, key, headDim}: PositiveHead, {places, ends}: SampledQueries): number[] {
  const keys = ends.at(-1)!
  let sum = 0
  for (const place of places) sum += dotAt(query, place, query, place, headDim) / places.length
  for (let at = 0; at < keys * headDim; at++) sum += key[at]! ** 2 / keys
  const length = Math.sqrt(sum)
  const levels = [1]
  for (let reach = REACH; reach > 0; reach -= STEP) {
    if (reach <= length - STEP / 2) levels.push(reach / length)
  }
  return levels
}

/** What rows are drawn for. */
interface Drawing {
  head: PositiveHead
  queries: SampledQueries
  exact: ExactRows
  levels: readonly number[]
}

/** v = b w of all rows, `[halves, R, levels + 1, D]`: `N(c (x + y), I)` at level c, y picked; last `N(0, b^2)`. */
function drawnRows(
  {head, queries: {places}, exact: {picked}, levels}: Drawing,
  stream: RandomStream,
): Float64Array {
  const {query, key, headDim} = head
  const kinds = levels.length + 1
  const rows = normals(stream, HALVES * places.length * kinds * headDim)
  const spread = spreadOf(head)
  for (let at = 0; at * headDim < rows.length; at++) {
    const [kind, i] = [at % kinds, Math.floor(at / kinds) % places.length]
    const half = Math.floor(at / (kinds * places.length))
    const row = rows.subarray(at * headDim, (at + 1) * headDim)
    const level = levels[kind]
    if (level === undefined) {
      for (let d = 0; d < headDim; d++) row[d]! *= spread[d]!
      continue
    }
    const x = places[i]! * headDim
    const y = picked[(i * levels.length + kind) * HALVES + half]! * headDim
    for (let d = 0; d < headDim; d++) row[d]! += level * (query[x + d]! + key[y + d]!)
  }
  return rows
}

/** b of each axis, `[D]`. */
export function spreadOf({headDim, exponents}: PositiveHead): Float64Array {
  return Float64Array.from({length: headDim}, (_, d) => Math.sqrt(1 - 4 * (exponents?.[d] ?? 0)))
}

interface AllVotes {
  /** f(w), `[rows, views, Dv]`. */
  says: Float64Array
  /** `[rows, views, levels]` */
  logSum: Float64Array
}

function allVotes({head, queries: {ends}, levels}: Drawing, rows: Float64Array): AllVotes {
  const {headDim, valueDim} = head
  const count = rows.length / headDim
  const says = new Float64Array(count * ends.length * valueDim)
  const logSum = new Float64Array(count * ends.length * levels.length)
  let view = 0
  for (const votes of votesByView(head, ends, {rows, levels})) {
    for (let row = 0; row < count; row++) {
      const at = row * ends.length + view
      says.set(votes.says.subarray(row * valueDim, (row + 1) * valueDim), at * valueDim)
      for (let l = 0; l < levels.length; l++) {
        logSum[at * levels.length + l] = votes.logSum[l * count + row]!
      }
    }
    view++
  }
  return {says, logSum}
}

interface WeighedRows extends Pick<RatioSamples, 'logRho' | 'says'> {
  /** ln of the density that rows were drawn from over that of N(0, I), but for a constant, `[count]`. */
  logMixture: Float64Array
  /** Where in `says` a query looks, `[R]`. */
  views: Int32Array
}

function weighedRows(drawing: Drawing, rows: Float64Array): WeighedRows {
  const {head, queries, levels} = drawing
  const {paired} = head
  const signs = paired ? [rows, rows.map(v => -v)] : [rows]
  const votes = signs.map(signed => allVotes(drawing, signed))
  const logs = signs.map((signed, s) => logWeights(drawing, signed, votes[s]!))
  const both = paired ? logs[0]!.map((log, at) => logMean(log, logs[1]![at]!)) : logs[0]!
  const count = rows.length / head.headDim
  const size = queries.places.length * count
  const logRho = both.subarray(0, size)
  const logMixture = mixtureOf(both, {count, levels: levels.length})
  if (!paired) return {logRho, logMixture, says: votes[0]!.says, views: queries.viewOf}
  const says = pairSays(votes, logs, queries, head.valueDim)
  return {logRho, logMixture, says, views: queries.viewOf.map((_, i) => i)}
}

/** ln rho of all rows for each query, `[levels, R, count]`: densities over N(0, I), at every level. */
function logWeights(
  {head, queries: {places, viewOf, ends}, exact, levels}: Drawing,
  rows: Float64Array,
  votes: AllVotes,
): Float64Array {
  const {query, headDim} = head
  const [count, queries] = [rows.length / headDim, places.length]
  const half = halfSquares(query, headDim)
  const own = ownLogs(head, rows)
  const out = new Float64Array(levels.length * queries * count)
  for (let row = 0; row < count; row++) {
    for (let i = 0; i < queries; i++) {
      const product = dotAt(rows, row, query, places[i]!, headDim)
      const at = (row * ends.length + viewOf[i]!) * levels.length
      for (const [l, level] of levels.entries()) {
        const log = level * product - level * level * half[places[i]!]! + votes.logSum[at + l]!
        out[(l * queries + i) * count + row] =
          own[row]! + log - exact.logSum[i * levels.length + l]!
      }
    }
  }
  return out
}

/** `ln D0^2 + 2 w.A w` of each row v = b w. */
export function ownLogs({headDim, exponents}: PositiveHead, rows: Float64Array): Float64Array {
  const out = new Float64Array(rows.length / headDim)
  exponents?.forEach((a, d) => {
    const constant = Math.log1p(-4 * a) / 2
    for (let row = 0; row < out.length; row++) {
      out[row]! += constant + (2 * a * rows[row * headDim + d]! ** 2) / (1 - 4 * a)
    }
  })
  return out
}

/** ln of the sum of all densities that rows were drawn from, in equal numbers; the density of N(0, I) is 1. */
function mixtureOf(
  logs: Float64Array,
  {count, levels}: {count: number; levels: number},
): Float64Array {
  const others = logs.length / count
  const bases = others / levels
  return Float64Array.from({length: count}, (_, row) => {
    let top = 0
    for (let k = 0; k < others; k++) top = Math.max(top, logs[k * count + row]!)
    let sum = bases * Math.exp(-top)
    for (let k = 0; k < others; k++) sum += Math.exp(logs[k * count + row]! - top)
    return top + Math.log(sum)
  })
}

function logShares(logMixture: Float64Array): Float64Array {
  const half = logMixture.length / HALVES
  const sums = Array.from({length: HALVES}, (_, h) =>
    logMixture.subarray(h * half, (h + 1) * half).reduce((sum, log) => sum + Math.exp(-log), 0),
  )
  return logMixture.map((log, row) => -log - Math.log(sums[Math.floor(row / half)]!))
}

/** ln((e^a + e^b) / 2) */
function logMean(a: number, b: number): number {
  const [low, high] = a < b ? [a, b] : [b, a]
  return high === Number.NEGATIVE_INFINITY
    ? high
    : high + Math.log1p(Math.exp(low - high)) - Math.LN2
}

/** What a pair of rows says to each query: the value of each row, by its weight, `[count, R, Dv]`. */
function pairSays(
  votes: readonly AllVotes[],
  logs: readonly Float64Array[],
  {viewOf, ends}: SampledQueries,
  dim: number,
): Float64Array {
  const queries = viewOf.length
  const [plus, minus] = votes as [AllVotes, AllVotes]
  const count = plus.says.length / (ends.length * dim)
  const says = new Float64Array(count * queries * dim)
  for (let row = 0; row < count; row++) {
    for (let i = 0; i < queries; i++) {
      const at = i * count + row
      const share = 1 / (1 + Math.exp(logs[1]![at]! - logs[0]![at]!))
      const from = (row * ends.length + viewOf[i]!) * dim
      const to = (row * queries + i) * dim
      for (let d = 0; d < dim; d++) {
        says[to + d] = share * plus.says[from + d]! + (1 - share) * minus.says[from + d]!
      }
    }
  }
  return says
}
