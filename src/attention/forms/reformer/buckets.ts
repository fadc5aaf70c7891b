/** Hash buckets of tokens and the chunks that sorting by them gives. On the host, since tensors cannot be sorted. */
import {tf} from '../../../tf.js'
import {hostData} from '../../host-data.js'
import {matMul} from '../../kernels/index.js'
import type {KeyMask} from '../../types.js'
import {type ReformerOptions, rotationsOf} from './options.js'

/** Chunks of all heads, round by round. */
export interface ChunkPlan {
  chunkSize: number
  /** Chunks of a head in one round, the most that any has. */
  count: number
  /** Of each round, positions in sorted order, `[B H, count, chunkSize]`; -1 where there is no token. */
  rounds: Int32Array[]
  /** Chunks that hold tokens, of each batch element. */
  used: number[]
}

export interface PlanInputs {
  /** `[B, H, L, D]` */
  query: tf.Tensor4D
  /** Row `i R + r` is rotation i of round r, `[1, H, rows, D]`. */
  rotations: tf.Tensor4D
  keyMask?: KeyMask | undefined
  chunkSize: number
  options: ReformerOptions
}

/**
 * Sorts the tokens that are there by (bucket, position) and cuts them into chunks; `bucket = argmax [W x, -W x]`.
 * With fewer tokens there are fewer buckets: masked tokens leave no trace.
 *
 * Source: Kitaev, Kaiser, Levskaya 2020, arXiv:2001.04451, section 2.
 */
export function planChunks({query, rotations, keyMask, chunkSize, options}: PlanInputs): ChunkPlan {
  const [batch, heads, length] = query.shape
  const {mask} = hostData(() => ({mask: keyMask}))
  const tokens = Array.from({length: batch}, (_, b) =>
    Array.from({length}, (_, t) => t).filter(t => mask?.[b * length + t] !== 0),
  )
  const used = tokens.map(present => Math.ceil(present.length / chunkSize))
  const count = Math.max(1, ...used)
  const places = count * chunkSize
  const rounds = Array.from({length: options.rounds}, () =>
    new Int32Array(batch * heads * places).fill(-1),
  )
  // without a mask all batch elements have the same number of buckets and are hashed together
  const groups = mask ? tokens.map((_, b) => [b, 1] as const) : [[0, batch] as const]
  for (const [first, size] of groups) {
    const present = tokens[first]!
    if (present.length === 0) continue
    const buckets =
      used[first] === 1
        ? undefined // one chunk holds all: their order does not matter
        : hash(tf.slice(query, [first, 0, 0, 0], [size, -1, -1, -1]), rotations, {
            rounds: options.rounds,
            halves: rotationsOf(present.length, chunkSize, options),
          })
    for (let head = 0; head < size * heads; head++) {
      rounds.forEach((places_, round) => {
        const bucketOf = (t: number) => buckets?.[(head * length + t) * options.rounds + round] ?? 0
        const sorted = present.slice().sort((a, b) => bucketOf(a) - bucketOf(b)) // stable
        places_.set(sorted, (first * heads + head) * places)
      })
    }
  }
  return {chunkSize, count, rounds, used}
}

/** Bucket of each token in each round, `[B, H, L, R]`. */
function hash(
  query: tf.Tensor4D,
  rotations: tf.Tensor4D,
  {rounds, halves}: {rounds: number; halves: number},
): Int32Array {
  const {buckets} = hostData(() => {
    const [batch, heads, length, headDim] = query.shape
    const rows = rounds * halves
    const used = tf.reshape(tf.slice(rotations, [0, 0, 0, 0], [1, heads, rows, headDim]), [
      heads,
      rows,
      headDim,
    ])
    const flat: tf.Tensor3D = tf.reshape(query, [batch * heads, length, headDim])
    const rotated = matMul(flat, tf.tile(used, [batch, 1, 1]) as tf.Tensor3D, false, true)
    const half = tf.reshape(rotated, [batch * heads * length, halves, rounds])
    return {buckets: tf.argMax(tf.concat([half, tf.neg(half)], 1), 1)}
  })
  return buckets as Int32Array
}
