/** What the queries of each chunk see, as arrays for the device. */
import {tf} from '../../../tf.js'
import type {ChunkPlan} from './buckets.js'
import type {ReformerOptions} from './options.js'

/** One round of all heads: n chunks of c places, `n = B H count`; each sees K places. */
export interface RoundView {
  /** Row of `[B H L]` of each query place, `[n c]`; 0 where there is none. */
  queryRows: Int32Array
  /** Row of each key place, `[n K]`. */
  keyRows: Int32Array
  /** Position of each query place, `[n, c, 1]`. */
  queryPositions: tf.Tensor3D
  /** Position of each key place, `[n, 1, K]`; beyond all where there is none. */
  keyPositions: tf.Tensor3D
  /** 1 for key places with a token, `[n, 1, K]`. */
  keyPresent: tf.Tensor3D
  /** Place of each token of `[B H L]` among the query places; 0 for masked ones. */
  placeOf: Int32Array
}

/** Beyond every position, and exact in float32. */
const NOWHERE = 2 ** 24

/** Positions of the chunks that each chunk of a round sees, `[n, K]`; -1 where there is none. */
function keyPlaces(plan: ChunkPlan, round: number, {lookBack}: ReformerOptions): Int32Array {
  const {chunkSize, count, rounds, used} = plan
  const own = rounds[round]!
  const before = rounds[(round + rounds.length - 1) % rounds.length]!
  const heads = own.length / (used.length * count * chunkSize)
  const single = count === 1 && (lookBack === 'previous' || rounds.length === 1)
  const width = single ? chunkSize : 2 * chunkSize
  const out = new Int32Array((own.length / chunkSize) * width).fill(-1)
  for (let n = 0; n * chunkSize < own.length; n++) {
    out.set(chunkAt(own, n, chunkSize), n * width)
    if (single) continue
    const chunk = n % count
    const chunks = used[Math.floor(n / count / heads)]!
    const alone = chunks === 1 && rounds.length === 1 // the one before would be itself
    if (chunk > 0) out.set(chunkAt(own, n - 1, chunkSize), n * width + chunkSize)
    else if (lookBack === 'wrap' && chunks > 0 && !alone) {
      out.set(chunkAt(before, n + chunks - 1, chunkSize), n * width + chunkSize)
    }
  }
  return out
}

function chunkAt(places: Int32Array, n: number, chunkSize: number): Int32Array {
  return places.subarray(n * chunkSize, (n + 1) * chunkSize)
}

/** Everything about one round but the tokens themselves. */
export function roundView(
  plan: ChunkPlan,
  round: number,
  length: number,
  options: ReformerOptions,
): RoundView {
  const {chunkSize, count} = plan
  const queries = plan.rounds[round]!
  const keys = keyPlaces(plan, round, options)
  const chunks = queries.length / chunkSize
  const width = keys.length / chunks
  // place `at` is in chunk floor(at / perChunk); a head has `count` chunks
  const row = (perChunk: number) => (t: number, at: number) =>
    t < 0 ? 0 : Math.floor(at / perChunk / count) * length + t
  const placeOf = new Int32Array((chunks / count) * length)
  // the way back from sorted places to tokens
  queries.forEach((t, at) => {
    if (t >= 0) placeOf[row(chunkSize)(t, at)] = at
  })
  const tensor = (values: Int32Array, of: (t: number) => number, shape: [number, number, number]) =>
    tf.tensor3d(Float32Array.from(values, of), shape)
  return {
    queryRows: queries.map(row(chunkSize)),
    keyRows: keys.map(row(width)),
    queryPositions: tensor(queries, t => t, [chunks, chunkSize, 1]),
    keyPositions: tensor(keys, t => (t < 0 ? NOWHERE : t), [chunks, 1, width]),
    keyPresent: tensor(keys, t => (t < 0 ? 0 : 1), [chunks, 1, width]),
    placeOf,
  }
}

/**
 * In how many rounds the query of one place sees the key of the other, `[n, c, K]`.
 *
 * @param rows - of all places in this round
 */
export function roundsInView(
  plan: ChunkPlan,
  {queryRows, keyRows}: Pick<RoundView, 'queryRows' | 'keyRows'>,
  length: number,
  {lookBack}: ReformerOptions,
): tf.Tensor3D {
  const {rounds, count, used, chunkSize} = plan
  const chunks = queryRows.length / chunkSize
  const width = keyRows.length / chunks
  const tokens = (queryRows.length / chunkSize / count) * length
  const heads = tokens / length / used.length
  // chunks are numbered through all rounds: chunk c of round r is r count + c
  const chunkOf = rounds.map((places, round) => {
    const numbers = new Float32Array(tokens).fill(-1)
    places.forEach((t, at) => {
      const n = Math.floor(at / chunkSize)
      if (t >= 0) numbers[Math.floor(n / count) * length + t] = round * count + (n % count)
    })
    return numbers
  })
  const last = (row: number) => used[Math.floor(row / length / heads)]! - 1
  // the chunk before, or -2, which is none's number
  const previous = rounds.map((_, round) =>
    chunkOf[round]!.map((chunk, row) => {
      if (chunk > round * count) return chunk - 1
      const before = (round + rounds.length - 1) % rounds.length
      const wraps = lookBack === 'wrap' && (rounds.length > 1 || last(row) > 0)
      return wraps ? before * count + last(row) : -2
    }),
  )
  const column = (values: Float32Array): tf.Tensor3D =>
    tf.tensor3d(
      Float32Array.from(queryRows, row => values[row]!),
      [chunks, chunkSize, 1],
    )
  const line = (values: Float32Array): tf.Tensor3D =>
    tf.tensor3d(
      Float32Array.from(keyRows, row => values[row]!),
      [chunks, 1, width],
    )
  const lines = chunkOf.map(line)
  const same = (a: tf.Tensor3D, b: tf.Tensor3D): tf.Tensor3D => tf.cast(tf.equal(a, b), 'float32')
  // a key is in view in a round where its chunk is the query's own or the one before that
  const terms = rounds.flatMap((_, round) => {
    const before = column(previous[round]!)
    const seen = [same(column(chunkOf[round]!), lines[round]!), same(before, lines[round]!)]
    if (lookBack === 'previous' || rounds.length === 1) return seen
    const other = lines[(round + rounds.length - 1) % rounds.length]!
    return [...seen, same(before, other)]
  })
  return terms.reduce((sum, term) => tf.add(sum, term))
}
