/**
 * Sums over past keys, chunk by chunk: `S_t = S_{t-1} + phi(k_t) v_t^T`, read after it is written, so that a token
 * sees itself. Inside a chunk of C tokens the masked product `tril(Q' K'^T) V`, across chunks the carried S:
 * O(L (C (F + Dv) + F Dv)) work, and one state of F Dv numbers where prefix sums of every token would be L of them.
 */
import {tf} from '../../tf.js'
import {causalMask, MASKED, maskLogits} from './masking.js'
import {matMul} from './mat-mul.js'

/** Tokens per chunk of the causal form: inside a chunk the masked product, across chunks the sums. */
export const CAUSAL_CHUNK = 64

export interface CausalExtras {
  logWeight: tf.Tensor3D | undefined // [N, 1, S]
  logGate: tf.Tensor3D | undefined // [N, 1, S]
  carried: tf.Tensor3D | undefined // [N, F, Dv + 1]
}

export function causalSums(
  queries: tf.Tensor3D,
  keys: tf.Tensor3D,
  values: tf.Tensor3D,
  extras: CausalExtras,
): tf.Tensor3D {
  const [rows, queryLen, featureDim] = queries.shape
  const keyLen = keys.shape[1]
  const width = values.shape[2]
  let carried: Carried = {
    sums: extras.carried ?? tf.zeros<tf.Rank.R3>([rows, featureDim, width]),
    logScale: tf.fill([rows, 1, 1], extras.logWeight ? MASKED : 0),
  }
  const chunks: tf.Tensor3D[] = []
  for (let start = 0; start < queryLen; start += CAUSAL_CHUNK) {
    const length = Math.min(CAUSAL_CHUNK, queryLen - start)
    const queryChunk = tf.slice(queries, [0, start, 0], [rows, length, featureDim])
    const keyCount = Math.max(0, Math.min(CAUSAL_CHUNK, keyLen - start, length))
    if (keyCount === 0) {
      chunks.push(matMul(queryChunk, carried.sums))
      continue
    }
    const cut = (tensor: tf.Tensor3D | undefined) =>
      tensor && tf.slice(tensor, [0, 0, start], [rows, 1, keyCount])
    const chunk: Chunk = {
      queries: queryChunk,
      keys: tf.slice(keys, [0, start, 0], [rows, keyCount, featureDim]),
      values: tf.slice(values, [0, start, 0], [rows, keyCount, width]),
      logWeight: cut(extras.logWeight),
      logGate: cut(extras.logGate),
    }
    const weights = chunkWeights(chunk, carried.logScale)
    chunks.push(readChunk(chunk, carried.sums, weights))
    carried = advance(chunk, carried)
  }
  return chunks.length === 1 ? chunks[0]! : (tf.concat(chunks, 1) as tf.Tensor3D)
}

interface Carried {
  /** Sums over all keys before the chunk, times exp(-logScale), `[N, F, Dv + 1]`. */
  sums: tf.Tensor3D
  logScale: tf.Tensor3D // [N, 1, 1]
}

interface Chunk {
  queries: tf.Tensor3D // [N, l, F]
  keys: tf.Tensor3D // [N, s, F]
  values: tf.Tensor3D // [N, s, Dv + 1]
  logWeight: tf.Tensor3D | undefined // [N, 1, s]
  logGate: tf.Tensor3D | undefined // [N, 1, s]
}

interface ChunkWeights {
  pair: tf.Tensor3D // [N or 1, l, s], zero above the diagonal
  carried: tf.Tensor3D | undefined // [N, l, 1]; undefined: 1
}

/**
 * Weight of each key and of the carried sums at each row. Key j counts at row i with
 * `exp(logWeight_j + G_i - G_j)`, G the running sum of log-gates within the chunk, and what was carried with
 * `exp(logScale + G_i)`. Products of gates as differences of sums: a quotient of products would underflow first.
 *
 * Weights of keys may be of any size, so each row's are taken relative to its largest, which cancels in the ratio;
 * gates alone are at most 1 and need no such scale.
 */
function chunkWeights(chunk: Chunk, carriedScale: tf.Tensor3D): ChunkWeights {
  const length = chunk.queries.shape[1]
  const [rows, keyCount] = chunk.keys.shape
  const mask = causalMask(length, keyCount)
  if (!chunk.logWeight && !chunk.logGate) return {pair: mask, carried: undefined}
  const logGate = rowGates(chunk, length) // [N, l, 1]
  const columnGate = chunk.logGate && cumulative(chunk.logGate) // [N, 1, s]
  let pair: tf.Tensor = tf.zeros([rows, length, keyCount])
  if (logGate && columnGate) pair = tf.sub(logGate, columnGate)
  if (chunk.logWeight) pair = tf.add(pair, chunk.logWeight)
  // before the maximum: a later key, however heavy, must not decide the scale of an earlier row
  pair = maskLogits(pair, mask)
  let carried: tf.Tensor = tf.add(carriedScale, logGate ?? tf.zeros([rows, length, 1]))
  if (chunk.logWeight) {
    const top = tf.maximum(tf.max(pair, -1, true), carried)
    pair = tf.sub(pair, top)
    carried = tf.sub(carried, top)
  }
  return {pair: tf.mul(tf.exp(pair), mask) as tf.Tensor3D, carried: tf.exp(carried) as tf.Tensor3D}
}

/** Sum of log-gates from the chunk's start to each row, `[N, l, 1]`; rows beyond the last key forget no more. */
function rowGates(chunk: Chunk, length: number): tf.Tensor3D | undefined {
  if (!chunk.logGate) return undefined
  const sums = cumulative(chunk.logGate) // [N, 1, s]
  const [rows, , keyCount] = sums.shape
  const last = tf.slice(sums, [0, 0, keyCount - 1], [rows, 1, 1])
  const padded =
    length > keyCount ? tf.concat([sums, tf.tile(last, [1, 1, length - keyCount])], 2) : sums
  return tf.transpose(padded, [0, 2, 1]) as tf.Tensor3D
}

/** Inclusive running sum along the last axis. */
function cumulative(row: tf.Tensor3D): tf.Tensor3D {
  return tf.cumsum(row, 2)
}

function readChunk(chunk: Chunk, sums: tf.Tensor3D, weights: ChunkWeights): tf.Tensor3D {
  const scores = tf.mul(matMul(chunk.queries, chunk.keys, false, true), weights.pair)
  const inside = matMul(scores as tf.Tensor3D, chunk.values)
  const before = matMul(chunk.queries, sums)
  return tf.add(inside, weights.carried ? tf.mul(before, weights.carried) : before)
}

/**
 * Folds the chunk's keys into the carried sums: those decay by all the chunk's gates, key j by the gates behind it.
 * Under key weights the sums are kept relative to the largest weight so far, as online softmax keeps its sums: the
 * old ones are rescaled by `exp(old - new) <= 1`, so that no exponential exceeds 1.
 */
function advance(chunk: Chunk, carried: Carried): Carried {
  const {logWeight, logGate} = chunk
  if (!logWeight && !logGate) {
    return {...carried, sums: tf.add(carried.sums, matMul(chunk.keys, chunk.values, true))}
  }
  const [rows, keyCount] = chunk.keys.shape
  let column: tf.Tensor = tf.zeros([rows, 1, keyCount])
  let old: tf.Tensor = carried.logScale
  if (logGate) {
    const total = tf.sum(logGate, -1, true) // [N, 1, 1]
    column = tf.sub(total, cumulative(logGate))
    old = tf.add(old, total)
  }
  let logScale: tf.Tensor = carried.logScale
  if (logWeight) {
    column = tf.add(column, logWeight)
    logScale = tf.maximum(tf.max(column, -1, true), old)
    column = tf.sub(column, logScale)
    old = tf.sub(old, logScale)
  }
  const weighted = tf.mul(chunk.values, tf.transpose(tf.exp(column), [0, 2, 1])) as tf.Tensor3D
  const sums = tf.add(tf.mul(carried.sums, tf.exp(old)), matMul(chunk.keys, weighted, true))
  return {sums: sums as tf.Tensor3D, logScale: logScale as tf.Tensor3D}
}
