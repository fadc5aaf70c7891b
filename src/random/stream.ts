import {hostLoops} from '../host-loops.js'
import {normalPairs, radiusOf, uniformOf} from './normal-pairs.js'
import {philox4x32} from './philox.js'

/**
 * A named stream of random numbers: the same `(seed, name, indices)` gives the same numbers whatever
 * was drawn before, in any process. Different names or indices never overlap: the name is folded into the key, up to
 * three indices fill the upper counter words, and the lowest counter word walks the stream (2^34 words before it would
 * wrap).
 *
 * Words, uniform numbers and integers are the same on any backend. Normals are too but for some units in the last
 * place of a double (see `normals` of `HostLoops`), and on one backend for any number of threads.
 */
export interface RandomStream {
  /** Uniform 32-bit word. */
  uint32(): number
  /** Uniform double in [0, 1) with 53 random bits. */
  uniform(): number
  /** Standard normal (Box-Muller in double precision, both halves used). */
  normal(): number
  /** Overwrites an array with standard normals, by the loop of the backend in use; floats are rounded doubles. */
  fillNormals(out: Float64Array | Float32Array): void
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
  return new PhiloxStream(streamKey(seed, name), indices)
}

/** Fills a new array with standard normals of one stream. */
export function normals(stream: RandomStream, length: number): Float64Array {
  const out = new Float64Array(length)
  stream.fillNormals(out)
  return out
}

class PhiloxStream implements RandomStream {
  /** Key and counter of the next block, one array of six words. */
  private readonly state = new Uint32Array(6)
  private readonly key = this.state.subarray(0, 2)
  private readonly counter = this.state.subarray(2)
  private readonly block = new Uint32Array(4)
  private used = 4
  private spare: number | undefined

  constructor(key: Uint32Array, indices: readonly number[]) {
    this.key.set(key)
    this.counter.set(indices, 1)
  }

  uint32(): number {
    if (this.used === 4) {
      philox4x32(this.block, this.counter, this.key)
      this.counter[0]!++
      this.used = 0
    }
    return this.block[this.used++]!
  }

  uniform(): number {
    return uniformOf(this.uint32(), this.uint32())
  }

  normal(): number {
    if (this.spare !== undefined) {
      const value = this.spare
      this.spare = undefined
      return value
    }
    const radius = radiusOf(this.uniform())
    const angle = 2 * Math.PI * this.uniform()
    this.spare = radius * Math.sin(angle)
    return radius * Math.cos(angle)
  }

  fillNormals(out: Float64Array | Float32Array): void {
    const spares = this.spare !== undefined && out.length > 0 ? 1 : 0
    if (spares === 1) out[0] = this.normal()
    const rest = spares === 0 ? out : out.subarray(spares)
    if (rest.length === 0) return
    if (this.used < 4) {
      // words were taken from a block: pairs lie across blocks from then on
      for (let i = 0; i < rest.length; i++) rest[i] = this.normal()
      return
    }
    const after = (hostLoops().normals ?? normalPairs)(this.state, rest)
    this.counter[0]! += Math.ceil(rest.length / 2)
    if (rest.length % 2 === 1) this.spare = after
  }

  integer(bound: number): number {
    const limit = 2 ** 32 - (2 ** 32 % bound)
    let word = this.uint32()
    while (word >= limit) word = this.uint32()
    return word % bound
  }
}

/** Two key words from a seed of up to 53 bits and a name: FNV-1a of the name, mixed by Philox itself. */
export function streamKey(seed: number, name: string): Uint32Array {
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
