/** What exchanged attention does to the next-token distributions of one batch. */
import {tf} from '../../../attention/index.js'
import {hostData} from '../../../attention/internal.js'
import {hostLoops, type NextTokensCall, type PlaceNumbers} from '../../../host-loops.js'
import type {ModelHead, TokenBatch} from '../../../model/index.js'

/** Means over the places of a text that have a next token. */
export interface NextTokens {
  /** Nats of the token that follows, by the original and by the model with its attention exchanged. */
  original: number
  exchanged: number
  /** KL divergence of the exchanged distribution from the original one, nats. */
  kl: number
  /** Share of places at which both hold the same token most likely. */
  agreement: number
  /** Nats more than the original at each of these places. */
  added: Float64Array
}

/** Logits of one model in memory at once, at least those of one place: 32 MiB. */
export const MOST_LOGITS = 2 ** 23

/**
 * Both distributions at every place of every text, from logits of some places at a time.
 *
 * @param heads - of the original, and of the exchanged model where it has another one
 * @param original - outputs of the last layer, `[B, L, width]`
 * @param exchanged - draws of the same
 * @returns draws, in each the texts of the batch
 */
export function nextTokens(
  {heads, vocabulary}: {heads: readonly [ModelHead, ModelHead?]; vocabulary: number},
  tokens: TokenBatch,
  original: tf.Tensor3D,
  exchanged: readonly tf.Tensor3D[],
): NextTokens[][] {
  const next = nextOf(tokens)
  const [head, ownHead = head] = heads
  const draws = exchanged.map(() => emptyNumbers(next.length))
  const step = Math.max(1, Math.floor(MOST_LOGITS / vocabulary))
  for (let first = 0; first < next.length; first += step) {
    const own = next.subarray(first, first + step)
    const before = logitsOf(head, original, first, own.length)
    exchanged.forEach((hidden, draw) => {
      const after = logitsOf(ownHead, hidden, first, own.length)
      const found = placeNumbers({original: before, exchanged: after, next: own})
      for (const name of NUMBERS) draws[draw]![name].set(found[name], first)
      hostLoops().recycle?.(after)
    })
    hostLoops().recycle?.(before)
  }
  return draws.map(numbers => textMeans(tokens, numbers))
}

/** The token that follows at each place of a batch, `[B L]`; -1 at the end of a text and in its padding. */
export function nextOf({ids, batch, length, lengths}: TokenBatch): Int32Array {
  const next = new Int32Array(batch * length).fill(-1)
  lengths.forEach((tokens, text) => {
    const start = text * length
    next.set(ids.subarray(start + 1, start + tokens), start)
  })
  return next
}

/** Logits of some places of a batch, `[count, V]`. */
function logitsOf(
  head: ModelHead,
  hidden: tf.Tensor3D,
  first: number,
  count: number,
): Float32Array {
  const {logits} = hostData(() => {
    const rows: tf.Tensor2D = tf.reshape(hidden, [-1, hidden.shape[2]])
    const piece: tf.Tensor3D = tf.expandDims(tf.slice(rows, [first, 0], [count, rows.shape[1]]))
    return {logits: head.logits(piece)}
  })
  return logits as Float32Array
}

const NUMBERS = [
  'original',
  'exchanged',
  'kl',
  'agreement',
] as const satisfies readonly (keyof PlaceNumbers)[]

function emptyNumbers(places: number): PlaceNumbers {
  const zeros = () => new Float64Array(places)
  return {original: zeros(), exchanged: zeros(), kl: zeros(), agreement: zeros()}
}

/** Both distributions at each place. */
export function placeNumbers(call: NextTokensCall): PlaceNumbers {
  return hostLoops().nextTokens?.(call) ?? defined(call)
}

function defined({original, exchanged, next}: NextTokensCall): PlaceNumbers {
  const vocabulary = original.length / next.length
  const found = emptyNumbers(next.length)
  next.forEach((token, place) => {
    if (token < 0) return
    const start = place * vocabulary
    const p = original.subarray(start, start + vocabulary)
    const q = exchanged.subarray(start, start + vocabulary)
    const [before, after] = [normalizer(p), normalizer(q)]
    found.original[place] = before.log - p[token]!
    found.exchanged[place] = after.log - q[token]!
    found.kl[place] = divergence(p, q, before.log, after.log)
    found.agreement[place] = before.top === after.top ? 1 : 0
  })
  return found
}

/** Means over the places of each text of a batch. @param numbers - of its places, `[B L]` */
export function textMeans(
  {length, lengths}: Pick<TokenBatch, 'length' | 'lengths'>,
  numbers: PlaceNumbers,
): NextTokens[] {
  return lengths.map((tokens, text) => {
    const start = text * length
    const end = start + tokens - 1
    const mean = (own: Float64Array) =>
      own.subarray(start, end).reduce((sum, value) => sum + value, 0) / (end - start)
    const {original, exchanged, kl, agreement} = numbers
    return {
      original: mean(original),
      exchanged: mean(exchanged),
      kl: mean(kl),
      agreement: mean(agreement),
      added: exchanged.slice(start, end).map((nats, place) => nats - original[start + place]!),
    }
  })
}

/** Logarithm of the sum of exponentials, and the place of the largest. */
function normalizer(logits: Float32Array): {log: number; top: number} {
  let top = 0
  for (let i = 1; i < logits.length; i++) if (logits[i]! > logits[top]!) top = i
  const most = logits[top]!
  let sum = 0
  for (let i = 0; i < logits.length; i++) sum += Math.exp(logits[i]! - most)
  return {log: most + Math.log(sum), top}
}

/** sum p (ln p - ln q). */
function divergence(p: Float32Array, q: Float32Array, logP: number, logQ: number): number {
  let sum = 0
  for (let i = 0; i < p.length; i++) {
    const log = p[i]! - logP
    sum += Math.exp(log) * (log - (q[i]! - logQ))
  }
  return sum
}
