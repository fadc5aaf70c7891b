/**
 * Rows of some queries: drawn by the seed of the plan, the same number in every head, so that comparing them takes little time
 * next to the attention itself. Their means estimate those of all rows, with a standard error.
 */
import type {CallShape} from '../../../attention/index.js'
import {type ExactOptions, exactRows, type RowChoice} from '../../../attention/internal.js'
import {type AttentionInput, sizesOf} from '../../../inputs/attention-input.js'
import {judgedKeys, judgedQueryPlaces, partsInView} from '../../../inputs/masked-tokens.js'
import {randomStream} from '../../../random/index.js'
import type {ForwardShape} from '../../method.js'
import {perMetric, ROW_METRICS} from '../replicate-metrics.js'
import {DISTANCE_BYTES, ExactRows, RowDistances, type RowMetrics} from './row-distances.js'

/** What sampling queries adds to a metric of one replicate: its standard error; `NaN` of a single query in a head of several. */
export type RowErrors = Record<keyof typeof ROW_METRICS, number>

export interface SampleRequest {
  input: AttentionInput
  exact: ExactOptions
  /** Queries to be drawn over all heads of all sequences: this number, or the next one that all heads can share. */
  queries: number
  seed: number
}

/** Replicates of a cell with compared rows: draws differ by less than what the sample leaves open. */
export const ROW_DRAWS = 3

/** Fewest of a head: one says nothing of the others. */
const LEAST = 2

/** Queries that are drawn of each head. @param lengths - queries of each sequence */
function perHead(queries: number, heads: number, lengths: readonly number[]): number {
  const share = Math.ceil(queries / (heads * lengths.length))
  return Math.min(Math.max(LEAST, share), ...lengths)
}

type RowShape = Pick<ForwardShape, 'batch' | 'heads' | 'queryLen'>

/** Rows that are compared of an input that judges all of its queries. */
export function sampledRows({batch, heads, queryLen}: RowShape, queries: number): number {
  const lengths = new Array<number>(batch).fill(queryLen)
  return batch * heads * perHead(queries, heads, lengths)
}

/** The call that takes as much as the weights of sampled queries: queries and keys have changed places. */
export function sampleShape(shape: CallShape, queries: number): CallShape {
  const count = sampledRows(shape, queries) / (shape.batch * shape.heads)
  return {...shape, queryLen: shape.keyLen, keyLen: count, valueDim: count, causal: false}
}

/** Bytes of what the sample holds on the host: exact weights, estimated ones of one replicate, distances. */
export function sampleBytes(shape: ForwardShape, queries: number): number {
  return sampledRows(shape, queries) * ((8 + 4) * shape.keyLen + 2 * DISTANCE_BYTES)
}

/** The drawn rows of one input, for all replicates of a cell. */
export class RowSample {
  /** Places of the drawn queries in the input, `[B, H, n]`. */
  private readonly places: Int32Array
  private readonly count: number
  private readonly keyLen: number
  /** Queries of each sequence. */
  private readonly lengths: readonly number[]
  private readonly heads: number
  /** `[B H n, S]` */
  private readonly weights: Float64Array
  private readonly largest: ExactRows

  constructor(request: SampleRequest) {
    const {input, exact} = request
    const {batch, heads, queryLen, keyLen} = sizesOf(input)
    const all = Int32Array.from({length: queryLen}, (_, i) => i)
    const judged = judgedQueryPlaces(input) ?? new Array<Int32Array>(batch).fill(all)
    this.heads = heads
    this.keyLen = keyLen
    this.lengths = judged.map(({length}) => length)
    this.count = perHead(request.queries, heads, this.lengths)
    const drawn = this.lengths.map((length, at) => this.drawn(request.seed, at, length))
    this.places = concatenated(drawn.map((own, at) => own.map(place => judged[at]![place]!)))
    this.weights = exactWeights(input, exact, drawn)
    this.largest = new ExactRows(this.rows)
    this.largest.add(this.weights, keyLen, 0)
  }

  /** Of the heads of one sequence, `[H, n]`: places among its judged queries, ascending. */
  private drawn(seed: number, sequence: number, length: number): Int32Array {
    const heads = Array.from({length: this.heads}, (_, head) =>
      drawnPlaces(seed, sequence * this.heads + head, {length, count: this.count}),
    )
    return concatenated(heads)
  }

  /** How many rows are compared. */
  get rows(): number {
    return this.lengths.length * this.heads * this.count
  }

  /** Numbers of all their weights. */
  get size(): number {
    return this.rows * this.keyLen
  }

  /** How many there are. */
  get of(): number {
    return this.heads * this.lengths.reduce((sum, length) => sum + length, 0)
  }

  /** The queries of a call. @param copies - how often it repeats all heads */
  choice(copies: number): RowChoice {
    const {places, count} = this
    return {places: concatenated(new Array(copies).fill(places)), count}
  }

  /** Metrics of one replicate, and their errors. @param estimate - weights of the drawn rows, `[B H n, S]` */
  metricsOf(estimate: Float32Array): RowMetrics & {errors: RowErrors} {
    const distances = new RowDistances(this.rows)
    distances.add(estimate, this.weights, this.keyLen, 0)
    const {largest, rows, of} = this
    // every row stands for the rows of its head; exactly 1 where all heads have the same number
    const weightOf = (row: number) => (this.lengthAt(row) * rows) / (this.count * of)
    const values = distances.values(largest)
    const errors = perMetric(ROW_METRICS, name => this.error(values[name]))
    return {...distances.metrics(largest, weightOf), errors}
  }

  private lengthAt(row: number): number {
    return this.lengths[Math.floor(row / (this.count * this.heads))]!
  }

  /**
   * Standard error of a mean over simple random samples of the heads; rows that are `NaN` are no part of it, and the mean
   * then is a ratio of two (linearised).
   *
   * Source: Cochran 1977, Sampling Techniques, sections 5.3 and 6.3.
   */
  private error(values: Float64Array): number {
    const {count, of} = this
    const share = (row: number) => this.lengthAt(row) / (count * of)
    let [known, sum] = [0, 0]
    values.forEach((value, row) => {
      if (Number.isNaN(value)) return
      known += share(row)
      sum += share(row) * value
    })
    const mean = sum / known
    let variance = 0
    for (let first = 0; first < values.length; first += count) {
      const length = this.lengthAt(first)
      if (count === length) continue // the head is no sample
      const off = values.subarray(first, first + count).map(x => (Number.isNaN(x) ? 0 : x - mean))
      const spread = squaredSpread(off) / (count - 1)
      variance += (length / of) ** 2 * (spread / count) * (1 - count / length)
    }
    return Math.sqrt(variance) / known
  }
}

function squaredSpread(values: Float64Array): number {
  const mean = values.reduce((sum, x) => sum + x, 0) / values.length
  return values.reduce((sum, x) => sum + (x - mean) ** 2, 0)
}

/** A simple random sample of places below a length, ascending. @param head - among those of all sequences */
function drawnPlaces(
  seed: number,
  head: number,
  {length, count}: {length: number; count: number},
): Int32Array {
  const stream = randomStream(seed, 'row-sample', head)
  const places = new Set<number>()
  // Floyd's algorithm: each set of places is as likely as any other
  for (let last = length - count; last < length; last++) {
    const place = stream.integer(last + 1)
    places.add(places.has(place) ? last : place)
  }
  return Int32Array.from(places).sort()
}

/** Exact weights of the drawn rows over all keys of the input, `[B H n, S]`; hidden keys have none. */
function exactWeights(
  input: AttentionInput,
  exact: ExactOptions,
  drawn: readonly Int32Array[],
): Float64Array {
  const {keyLen, batch} = sizesOf(input)
  const keys = judgedKeys(input)
  if (!keys) return exactRows(input.query, input.key, exact, concatenated(drawn))
  const all = new Float64Array(batch * drawn[0]!.length * keyLen)
  let row = 0
  for (const [at, {query, key}] of Array.from(partsInView(input, exact)).entries()) {
    const own = exactRows(query, key, exact, drawn[at]!)
    const places = keys[at]!
    for (let first = 0; first < own.length; first += places.length, row++) {
      places.forEach((place, i) => {
        all[row * keyLen + place] = own[first + i]!
      })
    }
  }
  return all
}

function concatenated(arrays: readonly Int32Array[]): Int32Array {
  const all = new Int32Array(arrays.reduce((sum, {length}) => sum + length, 0))
  let end = 0
  for (const array of arrays) {
    all.set(array, end)
    end += array.length
  }
  return all
}

const known = new WeakMap<Float64Array, {queries: number; sample: RowSample}>()

/** The same for all cells that are held against one exact output. @param exact - which holds for one input, target and seed */
export function rowSampleOf(exact: Float64Array, request: SampleRequest): RowSample {
  const {queries} = request
  const found = known.get(exact)
  if (found?.queries === queries) return found.sample
  const sample = new RowSample(request)
  known.set(exact, {queries, sample})
  return sample
}
