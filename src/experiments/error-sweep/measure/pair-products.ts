import {hostLoops} from '../../../host-loops.js'

/**
 * Inner products of all pairs of vectors, by the loop of the backend where it has one.
 *
 * @param vectors - `[count, n]`
 * @returns the product of j and i at `j (j - 1) / 2 + i`, i < j
 */
export function pairProducts(vectors: Float32Array, count: number): Float64Array {
  const own = hostLoops().pairProducts
  if (own) return own(vectors, count)
  const length = vectors.length / count
  const vector = (at: number) => vectors.subarray(at * length, (at + 1) * length)
  const products = new Float64Array((count * (count - 1)) / 2)
  let at = 0
  for (let j = 1; j < count; j++) {
    for (let i = 0; i < j; i++) products[at++] = dot(vector(j), vector(i))
  }
  return products
}

/** Four sums side by side, which need not wait for each other. */
export function dot(a: Float32Array, b: Float32Array): number {
  const whole = a.length & ~3
  let [s0, s1, s2, s3] = [0, 0, 0, 0]
  for (let i = 0; i < whole; i += 4) {
    s0 += a[i]! * b[i]!
    s1 += a[i + 1]! * b[i + 1]!
    s2 += a[i + 2]! * b[i + 2]!
    s3 += a[i + 3]! * b[i + 3]!
  }
  for (let i = whole; i < a.length; i++) s0 += a[i]! * b[i]!
  return s0 + s1 + (s2 + s3)
}
