import {describe, expect, it} from 'vitest'
import {philox4x32} from '../../../src/random/index.js'

/** Known-answer vectors of the Random123 library for philox4x32 with 10 rounds. */
const VECTORS = [
  {
    title: 'zeros',
    counter: [0, 0, 0, 0],
    key: [0, 0],
    answer: [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8],
  },
  {
    title: 'ones',
    counter: [0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff],
    key: [0xffffffff, 0xffffffff],
    answer: [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd],
  },
  {
    title: 'the digits of pi',
    counter: [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344],
    key: [0xa4093822, 0x299f31d0],
    answer: [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1],
  },
] as const

describe('philox4x32', () => {
  it.each(VECTORS)('gives the published answer for $title', ({counter, key, answer}) => {
    const out = new Uint32Array(4)
    const counterWords = Uint32Array.from(counter)
    const keyWords = Uint32Array.from(key)
    philox4x32(out, counterWords, keyWords)
    expect(Array.from(out)).toEqual(answer)
    expect(Array.from(counterWords)).toEqual(counter)
    expect(Array.from(keyWords)).toEqual(key)
  })
})
