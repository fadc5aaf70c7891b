import {describe, expect, it} from 'vitest'
import {dateText, listed, numbersListed, shortened} from '../../../src/report/words.js'

describe('listed', () => {
  it.each([
    [[], ''],
    [['a'], 'a'],
    [['a', 'b'], 'a and b'],
    [['a', 'b', 'c'], 'a, b and c'],
    [['a', 'b', 'c', 'd', 'e', 'f', 'g'], 'a, b, c, d and 3 more'],
  ])('tells %j', (names, words) => {
    expect(listed(names)).toBe(words)
  })
})

describe('numbersListed', () => {
  it('tells few numbers in their order, and the range of many', () => {
    expect(numbersListed([784, 3072, 512], 'tokens')).toBe('512, 784 and 3072 tokens')
    expect(numbersListed([1, 2, 3, 4, 8], 'tokens')).toBe('1 to 8 tokens (5 values)')
    expect(numbersListed([64])).toBe('64')
  })
})

describe('shortened', () => {
  it('leaves out the middle of what is too long', () => {
    expect(shortened('favor-pos', 9)).toBe('favor-pos')
    expect(shortened('favor-pos (performer-pytorch)', 20)).toBe('favor-pos...pytorch)')
    expect(shortened('abcdefghij', 8)).toBe('abc...ij')
  })
})

describe('dateText', () => {
  it('writes a time as people do, and leaves what is none', () => {
    expect(dateText('2026-11-22T19:39:24.474Z')).toBe('22 November 2026, 19:39 UTC')
    expect(dateText('yesterday')).toBe('yesterday')
  })
})
