/**
 * The error of linear randomized attention by drawing it: C proposals, means of segments of queries and keys, have one random
 * row each, and the rows say the same to all queries but for their weights.
 *
 * Source: Zheng, Wang & Kong 2022, arXiv:2204.04667, section 4.
 */
import {normals, type RandomStream} from '../../random/index.js'
import {dotAt, halfSquares} from './queries.js'
import type {Judged} from './simulate.js'
import type {PositiveHead} from './types.js'
import {type SeenKeys, softmaxOf, type Votes, votesByView} from './votes.js'

/** One head without proposals; segments are made of its queries and of its keys. */
export type PlainHead = Pick<PositiveHead, 'query' | 'key' | 'value' | 'headDim' | 'valueDim'>

/** One head as its proposals see it. */
export interface ProposalHead extends PlainHead {
  /** Where C segments of n tokens begin, and the last one ends. */
  segments(length: number, count: number): readonly number[]
  /** Weights of rows: per query, by the balance heuristic, or times exp(mu.x) in place of a density. */
  mis: 'opt' | 'bh' | 'biased'
  /** Of `opt`: factor on the correction, smallest weight, and whether it is a softmax over queries or over proposals. */
  coefficient: number
  floor: number
  axis: 'query' | 'proposal'
}

export interface DrawnProposals {
  /** C, at most the tokens of either side. */
  count: number
  draws: number
  stream: RandomStream
}

/** @returns the sum over the sampled queries of |output - exact|^2 of each draw, `[draws]` */
export function proposalErrors(
  head: ProposalHead,
  judged: Judged,
  {count, draws, stream}: DrawnProposals,
): Float64Array {
  const {headDim} = head
  const landmarks = segmentMeans(head.query, head, count)
  const keys = segmentMeans(head.key, head, count)
  const centres = landmarks.map((entry, at) => entry + keys[at]!)
  const half = halfSquares(centres, headDim)
  const rows = normals(stream, draws * centres.length)
  for (let at = 0; at < rows.length; at++) rows[at]! += centres[at % centres.length]!
  const {says, logSum} = seen(head, rows)
  // the density of N(mu, I) over that of N(0, I) is exp(w.mu - |mu|^2/2), as the weight of a key is
  const all = seenSum({key: centres, headDim}, rows)
  const own = all.map((_, row) => {
    const c = row % count
    return dotAt(rows, row, centres, c, headDim) - half[c]!
  })
  const proposals = {centres, corrections: correctionsOf(head, judged, landmarks)}
  const base = logSum.map((log, row) => log - (head.mis === 'opt' ? own[row]! : all[row]!))
  const share = own.map((log, row) => Math.exp(log - all[row]!))
  const values = Float32Array.from(says)
  return Float64Array.from({length: draws}, (_, draw) => {
    const [first, end] = [draw * count, (draw + 1) * count]
    return errorOf(head, judged, proposals, {
      rows: rows.subarray(first * headDim, end * headDim),
      says: values.subarray(first * head.valueDim, end * head.valueDim),
      base: base.subarray(first, end),
      share: share.subarray(first, end),
    })
  })
}

/** What rows see of keys: values by weights `exp(w.y - |y|^2/2)`, and ln of the sum of these. */
function seen(head: SeenKeys, rows: Float64Array): Votes {
  const ends = Int32Array.of(head.key.length / head.headDim)
  const [votes] = votesByView(head, ends, {rows, levels: [1]})
  return votes!
}

/** The sum alone. */
function seenSum(head: Omit<SeenKeys, 'value' | 'valueDim'>, rows: Float64Array): Float64Array {
  const value = new Float32Array(head.key.length / head.headDim)
  return seen({...head, value, valueDim: 1}, rows).logSum
}

/** Means of C segments, `[C, D]`. */
function segmentMeans(
  tokens: Float64Array,
  {headDim, segments}: ProposalHead,
  count: number,
): Float64Array {
  const starts = segments(tokens.length / headDim, count)
  const means = new Float64Array(count * headDim)
  for (let c = 0; c < count; c++) {
    const [first, end] = [starts[c]!, starts[c + 1]!]
    for (let at = first * headDim; at < end * headDim; at++) {
      means[c * headDim + (at % headDim)]! += tokens[at]! / (end - first)
    }
  }
  return means
}

/** Centres of C proposals, `[C, D]`, and what `opt` adds to their shares for each sampled query, `[R, C]`. */
interface Proposals {
  centres: Float64Array
  corrections: Float64Array
}

/** `a (t - mean of t over proposals)`, t the softmax of products of landmarks and queries along an axis, `[R, C]`. */
function correctionsOf(
  {query, headDim, mis, coefficient, axis}: ProposalHead,
  {queries: {places}}: Judged,
  landmarks: Float64Array,
): Float64Array {
  const count = landmarks.length / headDim
  const out = new Float64Array(places.length * count)
  if (mis !== 'opt') return out
  const sampled = new Float64Array(places.length * headDim)
  for (const [i, place] of places.entries()) {
    sampled.set(query.subarray(place * headDim, (place + 1) * headDim), i * headDim)
  }
  // ln of the sum of exponentials of products, of each landmark over the queries, or of each query over the landmarks
  const logSums =
    axis === 'query'
      ? seenSum({key: query, headDim, longKeysCount: true}, landmarks)
      : seenSum({key: landmarks, headDim, longKeysCount: true}, sampled)
  for (let i = 0; i < places.length; i++) {
    const own = out.subarray(i * count, (i + 1) * count)
    let mean = 0
    for (let c = 0; c < count; c++) {
      const log = logSums[axis === 'query' ? c : i]!
      own[c] = Math.exp(dotAt(landmarks, c, sampled, i, headDim) - log)
      mean += own[c]! / count
    }
    for (let c = 0; c < count; c++) own[c] = coefficient * (own[c]! - mean)
  }
  return out
}

/** Rows of one draw, `[C, D]`. */
interface DrawnRows {
  rows: Float64Array
  /** What they say, `[C, Dv]`. */
  says: Float32Array
  /** ln of the weight of keys over the density of the row, as each kind of weights has it, `[C]`. */
  base: Float64Array
  /** Of `opt`: share of the own proposal in the density of all, `[C]`. */
  share: Float64Array
}

/** Each output is softmax attention over the rows. */
function errorOf(
  {query, headDim, valueDim, mis, floor}: ProposalHead,
  {queries: {places}, exact}: Judged,
  {centres, corrections}: Proposals,
  {rows, says, base, share}: DrawnRows,
): number {
  const count = base.length
  const keyBias = new Float64Array(count)
  const [lse, out] = [new Float64Array(1), new Float64Array(valueDim)]
  let error = 0
  for (const [i, place] of places.entries()) {
    for (let c = 0; c < count; c++) {
      keyBias[c] = base[c]!
      if (mis === 'opt') {
        keyBias[c]! += Math.log(Math.max(share[c]! + corrections[i * count + c]!, floor))
      } else if (mis === 'biased') {
        keyBias[c]! += dotAt(centres, c, query, place, headDim)
      }
    }
    const x = query.subarray(place * headDim, (place + 1) * headDim)
    softmaxOf({...{query: x, key: rows, keyBias, value: says}, ...{headDim, valueDim, lse, out}})
    for (let d = 0; d < valueDim; d++) error += (out[d]! - exact[i * valueDim + d]!) ** 2
  }
  return error
}
