/**
 * The error of attention with sines and cosines, by drawing it: what M random rows see of the keys does not depend on
 * the queries, as `cos w.(x - y) = cos w.x cos w.y + sin w.x sin w.y`. Beyond the M that are drawn it follows from the
 * delta method: with numerator n and denominator d of M rows, E d = D, the error is `E |n - o d|^2 / D^2` and the bias
 * `-E (n - o d) (d - D) / D^2`, to order 1/M. Denominators have either sign: where theirs vary by much of their mean, neither
 * says anything.
 *
 * Source: derived here; delta method: Oehlert 1992, The American Statistician 46, 27-29.
 */
import {halfSquares} from './queries.js'
import type {Drawn, Judged} from './simulate.js'
import type {PositiveHead, SampledQueries} from './types.js'

/**
 * One head as its features see it: weights are `exp(x.y)`, estimates those of `e^{|y|^2/2} cos w.(x - y)`, rows w ~ N(0, I).
 */
export type CosineHead = Omit<PositiveHead, 'exponents' | 'longKeysCount' | 'paired'>

export interface CosineErrors {
  /** For each M the sum over queries of |output - exact|^2 of each draw, `[N / M]`. */
  drawn: Float64Array[]
  /** M times the sum over queries of E |output - exact|^2 by the delta method. */
  variance: number
  /** M times the mean over queries of Var(den) / den^2. */
  spread: number
  /** For each M of which there are draws enough the bias of outputs by the delta method, `[R, Dv]`. */
  bias: Float64Array[]
}

/** Largest sd(den) / den at which the delta method is believed. */
export const LARGEST_SPREAD = 0.3

/** Fewest draws that moments are taken from. */
const FEWEST = 16

/** Queries of one head, what they should give, and their mean denominators of one row, `[R]`. */
export interface JudgedCosines extends Judged {
  denominators: Float64Array
}

/** Draws outputs of the sampled queries. */
export function cosineErrors(head: CosineHead, judged: JudgedCosines, drawn: Drawn): CosineErrors {
  const {queries, exact, denominators: dens} = judged
  const {valueDim} = head
  const [least = 1] = drawn.numFeatures
  const sums = sumsOf(head, judged, {rows: drawn.rows, size: least})
  const groups = drawn.rows.length / head.headDim / least
  const errors = drawn.numFeatures.map(M => new Float64Array((groups * least) / M))
  let level = 0
  while (groups / 2 ** (level + 1) >= FEWEST && level + 1 < errors.length) level++
  const moments = {variance: 0, spread: 0}
  const bias = Array.from({length: level + 1}, () => new Float64Array(exact.length))
  const width = valueDim + 1
  for (let i = 0; i < queries.places.length; i++) {
    const own = sums.subarray(i * groups * width, (i + 1) * groups * width)
    const output = exact.subarray(i * valueDim, (i + 1) * valueDim)
    for (const [k, into] of errors.entries()) {
      if (k > 0) joinPairs(own, into.length, width)
      addErrors(own, output, into)
      if (k > level) continue
      const M = drawn.numFeatures[k]!
      const {variance, spread} = momentsOf(
        {sums: own, count: into.length, den: M * dens[i]!},
        output,
        bias[k]!.subarray(i * valueDim, (i + 1) * valueDim),
      )
      if (k < level) continue
      moments.variance += M * variance
      moments.spread += (M * spread) / queries.places.length
    }
  }
  return {drawn: errors, ...moments, bias}
}

/** Numerators and denominators of groups of rows, `[R, groups, Dv + 1]`. */
function sumsOf(
  {query, key, value, headDim, valueDim}: CosineHead,
  {queries}: Judged,
  {rows, size}: {rows: Float64Array; size: number},
): Float64Array {
  const count = rows.length / headDim
  const width = valueDim + 1
  const sums = new Float64Array((queries.places.length * count * width) / size)
  const factors = keyFactors(key, headDim)
  const [even, odd] = [new Float64Array(width), new Float64Array(width)]
  for (let row = 0; row < count; row++) {
    even.fill(0)
    odd.fill(0)
    let seen = 0
    for (const [i, place] of queries.places.entries()) {
      for (const end = queries.ends[queries.viewOf[i]!]!; seen < end; seen++) {
        const angle = dot(rows, row * headDim, key, seen * headDim, headDim)
        const [cosine, sine] = [factors[seen]! * Math.cos(angle), factors[seen]! * Math.sin(angle)]
        for (let d = 0, at = seen * valueDim; d < valueDim; d++) {
          even[d]! += cosine * value[at + d]!
          odd[d]! += sine * value[at + d]!
        }
        even[valueDim]! += cosine
        odd[valueDim]! += sine
      }
      const angle = dot(rows, row * headDim, query, place * headDim, headDim)
      const [cosine, sine] = [Math.cos(angle), Math.sin(angle)]
      const to = (i * (count / size) + Math.floor(row / size)) * width
      for (let d = 0; d < width; d++) sums[to + d]! += cosine * even[d]! + sine * odd[d]!
    }
  }
  return sums
}

/** `e^{|y|^2/2}` over the largest of them. */
function keyFactors(key: Float64Array, headDim: number): Float64Array {
  const halves = halfSquares(key, headDim)
  const top = largestOf(halves)
  return halves.map(half => Math.exp(half - top))
}

/** Mean denominators of one row, with keys that count by {@link keyFactors}, `[R]`. */
export function cosineDenominators(
  {query, key, headDim}: CosineHead,
  {places, ends, viewOf}: SampledQueries,
): Float64Array {
  const [queries, keys] = [halfSquares(query, headDim), halfSquares(key, headDim)]
  const top = largestOf(keys)
  return Float64Array.from(places, (place, i) => {
    let sum = 0
    for (let j = 0; j < ends[viewOf[i]!]!; j++) {
      const logit = dot(query, place * headDim, key, j * headDim, headDim)
      sum += Math.exp(logit - queries[place]! - top)
    }
    return sum
  })
}

function largestOf(values: Float64Array): number {
  return values.reduce((most, value) => Math.max(most, value), Number.NEGATIVE_INFINITY)
}

/**
 * Mean of |n - o d|^2 over the squared mean denominator, and variance of the denominator over it.
 *
 * @param bias - written, `[Dv]`
 */
function momentsOf(
  {sums, count, den}: {sums: Float64Array; count: number; den: number},
  output: Float64Array,
  bias: Float64Array,
): {variance: number; spread: number} {
  const width = output.length + 1
  let [variance, spread] = [0, 0]
  for (let group = 0; group < count; group++) {
    const at = group * width
    const own = sums[at + output.length]!
    const off = own / den - 1
    spread += off ** 2 / count
    for (let d = 0; d < output.length; d++) {
      const error = (sums[at + d]! - output[d]! * own) / den
      variance += error ** 2 / count
      bias[d]! -= (off * error) / count
    }
  }
  return {variance, spread}
}

function addErrors(sums: Float64Array, output: Float64Array, errors: Float64Array): void {
  const dim = output.length
  for (let group = 0; group < errors.length; group++) {
    const at = group * (dim + 1)
    for (let d = 0; d < dim; d++) {
      errors[group]! += (sums[at + d]! / sums[at + dim]! - output[d]!) ** 2
    }
  }
}

/** Writes the sums of groups 2 g and 2 g + 1 to place g. @param count - of sums */
function joinPairs(sums: Float64Array, count: number, width: number): void {
  for (let group = 0; group < count; group++) {
    for (let d = 0, at = 2 * group * width, to = group * width; d < width; d++) {
      sums[to + d] = sums[at + d]! + sums[at + width + d]!
    }
  }
}

function dot(x: Float64Array, from: number, y: Float64Array, at: number, dim: number): number {
  let sum = 0
  for (let d = 0; d < dim; d++) sum += x[from + d]! * y[at + d]!
  return sum
}
