/**
 * Errors of attention with positive features by drawing it. What M random rows see of the keys does not depend on
 * the queries, and a sum over M rows is two sums over M/2: one pass over the keys gives draws at every M.
 */
import {hostLoops} from '../../host-loops.js'
import {dotAt} from './queries.js'
import {ownLogs, spreadOf} from './samples.js'
import type {PositiveHead, SampledQueries} from './types.js'
import {votesByView} from './votes.js'

/** Queries of one head and what they should give. */
export interface Judged {
  queries: SampledQueries
  /** Exact outputs, `[R, Dv]`. */
  exact: Float64Array
}

export interface Drawn {
  /** N random rows w, `[N, D]`; every M of them that stand together are a draw. */
  rows: Float64Array
  /** Each M, twice the one before; N is a multiple of the largest. */
  numFeatures: readonly number[]
}

/** @returns for each M the sum over queries of |output - exact|^2 of each draw, `[N / M]` */
export function drawnErrors(
  head: PositiveHead,
  {queries, exact}: Judged,
  {rows, numFeatures}: Drawn,
): Float64Array[] {
  const {headDim, valueDim, paired} = head
  const vectors = inHead(head, rows)
  const own = ownLogs(head, vectors)
  const count = rows.length / headDim
  const errors = numFeatures.map(M => new Float64Array(count / M))
  const size = (paired ? 2 : 1) * numFeatures[0]!
  const views = votesByView(head, queries.ends, {rows: vectors, levels: [1]})
  let first = 0
  let view = 0
  for (const {says, logSum} of views) {
    let end = first
    while (queries.viewOf[end] === view) end++
    const drawn = {vectors, says, logs: own.map((log, row) => log + logSum[row]!), size}
    const places = queries.places.subarray(first, end)
    for (const [i, means] of groupMeans(head, places, drawn)) {
      const at = (first + i) * valueDim
      addErrors(means, exact.subarray(at, at + valueDim), errors)
    }
    first = end
    view++
  }
  return errors
}

/** v = b w of each row; of pairs, w before -w. */
function inHead(head: PositiveHead, rows: Float64Array): Float64Array {
  const {headDim, paired} = head
  const spread = spreadOf(head)
  const signs = paired ? [1, -1] : [1]
  const out = new Float64Array(signs.length * rows.length)
  for (const [s, sign] of signs.entries()) {
    for (let from = 0; from < rows.length; from += headDim) {
      const to = signs.length * from + s * headDim
      for (let d = 0; d < headDim; d++) out[to + d] = sign * spread[d]! * rows[from + d]!
    }
  }
  return out
}

/** Rows as the queries of one view see them. */
interface Rows {
  /** v = b w, `[rows, D]`. */
  vectors: Float64Array
  /** f(w), `[rows, Dv]`. */
  says: Float64Array
  /** ln of the weight of each row, but for its product with the query. */
  logs: Float64Array
  /** Rows of a group. */
  size: number
}

/** Ratios of groups of rows. */
interface Means {
  /** ln of the sum of their weights. */
  log: Float64Array
  /** What they say by weight, `[groups, Dv]`. */
  says: Float64Array
}

/** Queries from which on the loop of a backend, called once for each group, is faster. */
const FEWEST_BY_LOOP = 4

/** Means over equal groups of rows that stand together, by the loop of the backend in use where it has one. */
function* groupMeans(
  head: PositiveHead,
  places: Int32Array,
  rows: Rows,
): Generator<[number, Means]> {
  const groups = rows.logs.length / rows.size
  const loop = hostLoops().softmaxRows
  if (loop && places.length >= FEWEST_BY_LOOP) {
    const all = byLoop(head, places, rows)
    for (let i = 0; i < places.length; i++) {
      const part = (array: Float64Array) => {
        const size = array.length / places.length
        return array.subarray(i * size, (i + 1) * size)
      }
      yield [i, {log: part(all.log), says: part(all.says)}]
    }
    return
  }
  const {headDim, valueDim, query} = head
  const logs = new Float64Array(rows.logs.length)
  const means = {log: new Float64Array(groups), says: new Float64Array(groups * valueDim)}
  for (const [i, place] of places.entries()) {
    for (let row = 0; row < logs.length; row++) {
      logs[row] = rows.logs[row]! + dotAt(rows.vectors, row, query, place, headDim)
    }
    inDoubles(rows, logs, means)
    yield [i, means]
  }
}

/** Each group is softmax attention over its rows. @returns means of all queries, `[R, groups]` and `[R, groups, Dv]` */
function byLoop(
  {query, headDim, valueDim}: PositiveHead,
  places: Int32Array,
  {vectors, says, logs, size}: Rows,
): Means {
  const groups = logs.length / size
  const queries = new Float64Array(places.length * headDim)
  for (const [i, place] of places.entries()) {
    queries.set(query.subarray(place * headDim, (place + 1) * headDim), i * headDim)
  }
  const values = Float32Array.from(says)
  const lse = new Float64Array(places.length)
  const out = new Float64Array(places.length * valueDim)
  const means = {
    log: new Float64Array(places.length * groups),
    says: new Float64Array(places.length * groups * valueDim),
  }
  const absent = {scale: undefined, logConstant: undefined, entropy: undefined}
  for (let group = 0; group < groups; group++) {
    const [from, to] = [group * size, (group + 1) * size]
    hostLoops().softmaxRows!({
      ...{query: queries, key: vectors.subarray(from * headDim, to * headDim), headDim},
      ...{value: values.subarray(from * valueDim, to * valueDim), valueDim},
      ...{keyBias: logs.subarray(from, to), lse, out, causal: false, excludesSelf: false},
      ...absent,
    })
    for (let i = 0; i < places.length; i++) {
      const place = i * groups + group
      means.log[place] = lse[i]!
      means.says.set(out.subarray(i * valueDim, (i + 1) * valueDim), place * valueDim)
    }
  }
  return means
}

/** Weights below this share of a group's are left out of its mean. */
const NEGLIGIBLE = 2 ** -40

/** The same of one query. @param logs - ln of the weight of each row; overwritten */
function inDoubles({says, size}: Rows, logs: Float64Array, means: Means): void {
  const groups = means.log.length
  const dim = means.says.length / groups
  means.says.fill(0)
  for (let group = 0; group < groups; group++) {
    const first = group * size
    let top = Number.NEGATIVE_INFINITY
    for (let row = first; row < first + size; row++) top = Math.max(top, logs[row]!)
    let sum = 0
    for (let row = first; row < first + size; row++) {
      logs[row] = Math.exp(logs[row]! - top)
      sum += logs[row]!
    }
    means.log[group] = top + Math.log(sum)
    for (let row = first; row < first + size; row++) {
      const weight = logs[row]! / sum
      if (weight < NEGLIGIBLE) continue
      for (let d = 0, at = row * dim, to = group * dim; d < dim; d++) {
        means.says[to + d]! += weight * says[at + d]!
      }
    }
  }
}

/** Adds the errors of all groups, then of pairs of them, and so on. */
function addErrors({log, says}: Means, exact: Float64Array, errors: readonly Float64Array[]): void {
  const dim = exact.length
  for (const [k, own] of errors.entries()) {
    for (let group = 0; group < own.length; group++) {
      const at = group * dim
      if (k > 0) joinPair({log, says}, group, dim)
      for (let d = 0; d < dim; d++) own[group]! += (says[at + d]! - exact[d]!) ** 2
    }
  }
}

/** Writes groups 2 g and 2 g + 1 together to place g. */
function joinPair({log, says}: Means, group: number, dim: number): void {
  const [one, other] = [log[2 * group]!, log[2 * group + 1]!]
  const [low, high] = one < other ? [one, other] : [other, one]
  const sum = high + Math.log1p(Math.exp(low - high))
  const share = Math.exp(other - sum)
  log[group] = sum
  for (let d = 0, at = 2 * group * dim, to = group * dim; d < dim; d++) {
    says[to + d] = says[at + d]! + share * (says[at + dim + d]! - says[at + d]!)
  }
}
