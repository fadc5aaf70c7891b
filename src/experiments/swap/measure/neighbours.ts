/** What exchanged attention does to the neighbourhoods of embedded texts. */
import {spearman} from '../../../stats/index.js'

/** Unit vectors, one for each text, in the order of the texts. */
export type Embeddings = readonly Float32Array[]

/** Inner products of all pairs of texts. */
export interface Similarities {
  count: number
  /** `[T, T]`. */
  values: Float64Array
}

/** Cosines of all pairs. */
export function similarities(texts: Embeddings): Similarities {
  const count = texts.length
  const values = new Float64Array(count * count)
  for (let a = 0; a < count; a++) {
    for (let b = 0; b <= a; b++) {
      const cosine = dot(texts[a]!, texts[b]!)
      values[a * count + b] = cosine
      values[b * count + a] = cosine
    }
  }
  return {count, values}
}

export function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!
  return sum
}

/** The other texts of one, the nearest first, at most `most`. */
export function nearest({count, values}: Similarities, text: number, most: number): number[] {
  const row = values.subarray(text * count, (text + 1) * count)
  return Array.from({length: count}, (_, other) => other)
    .filter(other => other !== text)
    .sort((a, b) => row[b]! - row[a]! || a - b)
    .slice(0, most)
}

/** Share of items of one list that are in the other. */
export function overlap(a: readonly number[], b: readonly number[]): number {
  const others = new Set(b)
  return a.filter(item => others.has(item)).length / a.length
}

/**
 * Spearman's rank correlation of the similarities of all pairs of the texts named, ties at mean ranks.
 *
 * @param texts - which
 */
export function pairSpearman(a: Similarities, b: Similarities, texts: readonly number[]): number {
  return spearman(pairsOf(a, texts), pairsOf(b, texts))
}

function pairsOf({count, values}: Similarities, texts: readonly number[]): Float64Array {
  const pairs = new Float64Array((texts.length * (texts.length - 1)) / 2)
  let at = 0
  for (let i = 0; i < texts.length; i++) {
    for (let j = 0; j < i; j++) pairs[at++] = values[texts[i]! * count + texts[j]!]!
  }
  return pairs
}
