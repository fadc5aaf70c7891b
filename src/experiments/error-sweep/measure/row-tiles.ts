/**
 * Row metrics of replicates without a matrix of all weights: estimated weights are what the estimator gives where values
 * are columns of the identity, some keys at a time, and exact ones are computed for the same keys.
 */
import {
  type ExactOptions,
  exactTile,
  hostData,
  type RowTotals,
  rowTotals,
} from '../../../attention/internal.js'
import {hostLoops} from '../../../host-loops.js'
import {type AttentionInput, sizesOf} from '../../../inputs/attention-input.js'
import {judgedKeys, judgedRows, partsInView} from '../../../inputs/masked-tokens.js'
import {tf} from '../../../tf.js'
import {attendTuned} from '../../../tuned/call.js'
import type {ForwardShape} from '../../method.js'
import type {SweepTensors} from './batched-replicates.js'
import {DISTANCE_BYTES, ExactRows, RowDistances, type RowMetrics} from './row-distances.js'

/** Entries of one array of a tile: values, weights, exact weights. */
const TILE_ENTRIES = 2 ** 23

/** Bytes of the distances of replicates that go over the tiles together, which share exact weights. */
const GROUP_BYTES = 2 ** 26

/** How many keys make a tile: all of a short input. */
export function tileKeys({batch, heads, queryLen, keyLen}: Omit<ForwardShape, 'valueDim'>): number {
  const fitting = Math.floor(TILE_ENTRIES / (batch * heads * Math.max(queryLen, keyLen)))
  return Math.min(keyLen, Math.max(16, fitting))
}

/** How many replicates go over the tiles together. */
function groupSize(rows: number, replicates: number): number {
  return Math.max(1, Math.min(replicates, Math.floor(GROUP_BYTES / (rows * DISTANCE_BYTES))))
}

/**
 * How often exact weights are computed for a number of replicates: once for a group, and totals of rows before that.
 */
export function exactPasses({batch, heads, queryLen}: ForwardShape, replicates: number): number {
  return 1 + Math.ceil(replicates / groupSize(batch * heads * queryLen, replicates))
}

/** Bytes of what row metrics hold on the host: exact weights of a tile, totals of rows, distances. */
export function rowMetricBytes(shape: ForwardShape, replicates: number): number {
  const rows = shape.batch * shape.heads * shape.queryLen
  const distances = (groupSize(rows, replicates) + 1) * DISTANCE_BYTES
  return rows * (8 * tileKeys(shape) + 2 * 8 + distances)
}

export interface RowRequest {
  input: AttentionInput
  exact: ExactOptions
  /** Keys of a tile. Default: what {@link tileKeys} says. */
  tile?: number
}

/** One replicate as a call of attention. */
export type CallOptions = Parameters<typeof attendTuned>[3]

/** The rows of one input, for all replicates of a cell. */
export class RowTiles {
  private readonly parts: readonly AttentionInput[]
  private readonly totals: readonly RowTotals[]
  private readonly keys: readonly Int32Array[] | undefined

  constructor(private readonly request: RowRequest) {
    const {input, exact} = request
    this.parts = Array.from(partsInView(input, exact))
    this.totals = this.parts.map(({query, key}) => rowTotals(query, key, exact))
    this.keys = judgedKeys(input)
  }

  /** Metrics of replicates. @param calls - one of each */
  metricsOf(tensors: SweepTensors, calls: readonly CallOptions[]): RowMetrics[] {
    const size = groupSize(this.rows, calls.length)
    const groups = Array.from({length: Math.ceil(calls.length / size)}, (_, at) =>
      calls.slice(at * size, (at + 1) * size),
    )
    return groups.flatMap(group => this.groupMetrics(tensors, group))
  }

  private get rows(): number {
    return this.totals.reduce((sum, {totals}) => sum + totals.length, 0)
  }

  private groupMetrics(tensors: SweepTensors, calls: readonly CallOptions[]): RowMetrics[] {
    const {input} = this.request
    const {keyLen} = sizesOf(input)
    const judged = judgedRows(input)
    const exact = new ExactRows(this.rows)
    const distances = calls.map(() => new RowDistances(this.rows))
    const step = this.request.tile ?? tileKeys(sizesOf(input))
    for (let first = 0; first < keyLen; first += step) {
      const count = Math.min(step, keyLen - first)
      const weights = this.exactWeights(first, count)
      exact.add(weights, count, first)
      const values = identityColumns(input, first, count)
      calls.forEach((options, at) => {
        const {out} = hostData(() => ({
          out: attendTuned(tensors.query, tensors.key, values, options).out,
        }))
        distances[at]!.add(judged(out as Float32Array, count), weights, count, first)
        hostLoops().recycle?.(out as Float32Array)
      })
      values.dispose()
    }
    return distances.map(own => own.metrics(exact))
  }

  /** Exact weights of some keys, `[judged rows, count]`; hidden keys have none. */
  private exactWeights(first: number, count: number): Float64Array {
    const {exact} = this.request
    const tiles = this.parts.map(({query, key}, at) => {
      const range = this.rangeOf(at, first, count)
      return {at, range, weights: exactTile(query, key, exact, this.totals[at]!, range)}
    })
    if (!this.keys) return tiles[0]!.weights
    const out = new Float64Array(this.rows * count)
    let start = 0
    for (const {at, range, weights} of tiles) {
      const columns = this.keys[at]!.subarray(range.first, range.first + range.count)
      const rows = this.totals[at]!.totals.length
      for (let row = 0; row < rows; row++, start += count) {
        columns.forEach((key, i) => {
          out[start + key - first] = weights[row * range.count + i]!
        })
      }
    }
    return out
  }

  /** Which keys of a part are among `count` keys of the input from `first` on. */
  private rangeOf(part: number, first: number, count: number): {first: number; count: number} {
    const keys = this.keys?.[part]
    if (!keys) return {first, count}
    const below = (end: number) => keys.filter(key => key < end).length
    return {first: below(first), count: below(first + count) - below(first)}
  }
}

/** Values that are some columns of the identity, `[B, H, S, count]`. */
function identityColumns(input: AttentionInput, first: number, count: number): tf.Tensor4D {
  const {batch, heads, keyLen} = sizesOf(input)
  const data = new Float32Array(batch * heads * keyLen * count)
  for (let head = 0; head < batch * heads; head++) {
    for (let i = 0; i < count; i++) data[(head * keyLen + first + i) * count + i] = 1
  }
  return tf.tensor4d(data, [batch, heads, keyLen, count])
}
