import {describe, expect, it} from 'vitest'
import {normalPairs} from '../../../src/random/normal-pairs.js'
import {philox4x32} from '../../../src/random/philox.js'

const STREAM = Uint32Array.of(1, 2, 2 ** 32 - 1, 4, 5, 6)

/** r cos t and r sin t of a block's four words. */
function pairOf(counter: number): [number, number] {
  const words = new Uint32Array(4)
  philox4x32(words, Uint32Array.of(counter, 4, 5, 6), Uint32Array.of(1, 2))
  const uniform = (a: number, b: number) => ((a >>> 5) * 2 ** 26 + (b >>> 6)) / 2 ** 53
  const radius = Math.sqrt(-2 * Math.log(1 - uniform(words[0]!, words[1]!)))
  const angle = 2 * Math.PI * uniform(words[2]!, words[3]!)
  return [radius * Math.cos(angle), radius * Math.sin(angle)]
}

describe('normalPairs', () => {
  it('makes two normals of each block, across the end of the counter', () => {
    const out = new Float64Array(6)
    expect(normalPairs(STREAM, out)).toBe(0)
    expect([...out]).toEqual([...pairOf(2 ** 32 - 1), ...pairOf(0), ...pairOf(1)])
    expect(STREAM[2]).toBe(2 ** 32 - 1)
  })

  it('gives back the second one of the last block where it has no place', () => {
    const out = new Float32Array(3)
    expect(normalPairs(STREAM, out)).toBe(pairOf(0)[1])
    expect([...out]).toEqual([...pairOf(2 ** 32 - 1), pairOf(0)[0]].map(Math.fround))
  })
})
