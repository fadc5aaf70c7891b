import {philox4x32} from './philox.js'

/**
 * A named stream of random numbers: the same `(seed, name, indices)` gives the same numbers whatever
 * was drawn before, in any process, on any backend. Different names or indices never overlap: the
 * name is folded into the key, up to three indices fill the upper counter words, and the lowest
 * counter word walks the stream (2^34 words before it would wrap).
 */
export interface RandomStream {
  /** Uniform 32-bit word. */
  uint32(): number
  /** Uniform double in [0, 1) with 53 random bits. */
  uniform(): number
  /** Standard normal (Box-Muller in double precision, both halves used). */
  normal(): number
  /** Uniform integer in [0, bound), without modulo bias. */
  integer(bound: number): number
}

/**
 * Opens the stream of one draw.
 *
 * @param seed - non-negative safe integer; the plan's seed
 * @param name - what is drawn, e.g. `projection` or `gaussian.query`
 * @param indices - up to three non-negative integers below 2^32, e.g. replicate, head, block
 */
export function randomStream(seed: number, name: string, ...indices: number[]): RandomStream {
  const key = keyOf(seed, name)
  const counter = new Uint32Array([0, indices[0] ?? 0, indices[1] ?? 0, indices[2] ?? 0])
  const block = new Uint32Array(4)
  let used = 4
  let spare: number | undefined

  const uint32 = (): number => {
    if (used === 4) {
      philox4x32(block, counter, key)
      counter[0]!++
      used = 0
    }
    return block[used++]!
  }
  const uniform = (): number => {
    const high = uint32() >>> 5 // 27 bits
    const low = uint32() >>> 6 // 26 bits
    return (high * 0x4000000 + low) / 2 ** 53
  }
  const normal = (): number => {
    if (spare !== undefined) {
      const value = spare
      spare = undefined
      return value
    }
    const radius = Math.sqrt(-2 * Math.log(1 - uniform())) // 1 - u is in (0, 1]
    const angle = 2 * Math.PI * uniform()
    spare = radius * Math.sin(angle)
    return radius * Math.cos(angle)
  }
  const integer = (bound: number): number => {
    const limit = 2 ** 32 - (2 ** 32 % bound)
    let word = uint32()
    while (word >= limit) word = uint32()
    return word % bound
  }
  return {uint32, uniform, normal, integer}
}

/** Fills a new array with standard normals of one stream. */
export function normals(stream: RandomStream, length: number): Float64Array {
  const out = new Float64Array(length)
  for (let i = 0; i < length; i++) out[i] = stream.normal()
  return out
}

/** Two key words from a seed of up to 53 bits and a name: FNV-1a of the name, mixed by Philox itself. */
function keyOf(seed: number, name: string): Uint32Array {
  let low = 0x811c9dc5
  let high = 0xcbf29ce4
  for (let i = 0; i < name.length; i++) {
    low = Math.imul(low ^ name.charCodeAt(i), 0x01000193) >>> 0
    high = Math.imul(high ^ name.charCodeAt(name.length - 1 - i), 0x01000193) >>> 0
  }
  const mixed = new Uint32Array(4)
  const seedWords = new Uint32Array([seed >>> 0, Math.floor(seed / 2 ** 32) >>> 0])
  philox4x32(mixed, new Uint32Array([low, high, name.length, 0]), seedWords)
  return mixed.slice(0, 2)
}
