/** What exchanged attention does to the neighbourhoods of embedded texts. */

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

/** Inner product. */
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
  return correlation(ranks(pairsOf(a, texts)), ranks(pairsOf(b, texts)))
}

function pairsOf({count, values}: Similarities, texts: readonly number[]): Float64Array {
  const pairs = new Float64Array((texts.length * (texts.length - 1)) / 2)
  let at = 0
  for (let i = 0; i < texts.length; i++) {
    for (let j = 0; j < i; j++) pairs[at++] = values[texts[i]! * count + texts[j]!]!
  }
  return pairs
}

function ranks(values: Float64Array): Float64Array {
  const order = new Uint32Array(values.length).map((_, at) => at)
  order.sort((a, b) => values[a]! - values[b]!)
  const found = new Float64Array(values.length)
  for (let start = 0; start < order.length; ) {
    let end = start + 1
    while (end < order.length && values[order[end]!] === values[order[start]!]) end++
    for (let i = start; i < end; i++) found[order[i]!] = (start + end - 1) / 2
    start = end
  }
  return found
}

/** Pearson's, `NaN` where one side is constant. */
function correlation(a: Float64Array, b: Float64Array): number {
  const [meanA, meanB] = [a, b].map(all => all.reduce((sum, x) => sum + x, 0) / all.length)
  let [ab, aa, bb] = [0, 0, 0]
  for (let i = 0; i < a.length; i++) {
    const [x, y] = [a[i]! - meanA!, b[i]! - meanB!]
    ab += x * y
    aa += x * x
    bb += y * y
  }
  return ab / Math.sqrt(aa * bb)
}
