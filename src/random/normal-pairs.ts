import {philox4x32} from './philox.js'

/**
 * Overwrites an array with the standard normals of consecutive random blocks, two of each: `r cos t` and `r sin t`
 * with `r = sqrt(-2 ln(1 - u))`, `t = 2 pi v` (Box-Muller), u and v of 53 bits.
 *
 * The definition of `normals` of `HostLoops`.
 *
 * @param stream - six words: two of the key, four of the counter of the first block, counting by its first word;
 * not changed
 * @returns the second normal of the last block where `out` has an odd length, else 0
 */
export function normalPairs(stream: Uint32Array, out: Float64Array | Float32Array): number {
  const key = stream.subarray(0, 2)
  const counter = stream.slice(2, 6)
  const words = new Uint32Array(4)
  let after = 0
  for (let i = 0; i < out.length; i += 2) {
    philox4x32(words, counter, key)
    counter[0]!++
    const radius = radiusOf(uniformOf(words[0]!, words[1]!))
    const angle = 2 * Math.PI * uniformOf(words[2]!, words[3]!)
    out[i] = radius * Math.cos(angle)
    const second = radius * Math.sin(angle)
    if (i + 1 < out.length) out[i + 1] = second
    else after = second
  }
  return after
}

/** A number in [0, 1) from the upper 27 bits of one word and the upper 26 of another. */
export function uniformOf(first: number, second: number): number {
  return ((first >>> 5) * 0x4000000 + (second >>> 6)) / 2 ** 53
}

/** Length of a pair of normals. @param u - in [0, 1) */
export function radiusOf(u: number): number {
  return Math.sqrt(-2 * Math.log(1 - u)) // 1 - u is in (0, 1]
}
