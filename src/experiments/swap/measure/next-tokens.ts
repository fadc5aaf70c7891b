/** What exchanged attention does to the next-token distributions of one batch. */
import type {TokenBatch} from '../../../model/index.js'

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

/**
 * Both distributions at every place of every text.
 *
 * @param original - logits `[B, L, V]` @param exchanged - the same
 * @returns one for each text of the batch
 */
export function nextTokens(
  {ids, length, lengths}: TokenBatch,
  original: Float32Array,
  exchanged: Float32Array,
): NextTokens[] {
  const vocabulary = original.length / (lengths.length * length)
  return lengths.map((tokens, text) => {
    const sums = {original: 0, exchanged: 0, kl: 0, agreement: 0}
    const places = tokens - 1
    const added = new Float64Array(places)
    for (let place = 0; place < places; place++) {
      const row = text * length + place
      const next = ids[row + 1]!
      const start = row * vocabulary
      const [p, q] = [original, exchanged].map(all => all.subarray(start, start + vocabulary))
      const [before, after] = [normalizer(p!), normalizer(q!)]
      const [whole, own] = [before.log - p![next]!, after.log - q![next]!]
      sums.original += whole
      sums.exchanged += own
      added[place] = own - whole
      sums.kl += divergence(p!, q!, before.log, after.log)
      sums.agreement += before.top === after.top ? 1 : 0
    }
    return {
      original: sums.original / places,
      exchanged: sums.exchanged / places,
      kl: sums.kl / places,
      agreement: sums.agreement / places,
      added,
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
