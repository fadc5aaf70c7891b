import {describe, expect, it} from 'vitest'
import {NO_LABEL} from '../../../src/tasks/index.js'
import {selectiveCopy} from '../../../src/tasks/selective-copy.js'

const SMALL = {vocabulary: 7, length: 13, data: 4}
const COUNT = 400

describe('selective copying', () => {
  it('asks at the markers for the data, in their order', () => {
    const {tokens, labels} = selectiveCopy(SMALL, 0).examples({part: 'test', count: COUNT, run: 0})
    const places = new Set<number>()
    const seen = new Set<number>()
    for (let row = 0; row < COUNT; row++) {
      const own = [...tokens.slice(13 * row, 13 * row + 13)]
      const data = own.slice(0, 9).filter(token => token !== 0)
      expect(own.slice(9)).toEqual([6, 6, 6, 6])
      expect([...labels.slice(13 * row, 13 * row + 13)]).toEqual([
        ...Array<number>(9).fill(NO_LABEL),
        ...data,
      ])
      own.slice(0, 9).forEach((token, at) => {
        if (token !== 0) places.add(at)
      })
      for (const token of data) seen.add(token)
    }
    expect(places.size).toBe(9)
    expect([...seen].sort()).toEqual([1, 2, 3, 4, 5])
  })

  it('has a plateau where data are guessed', () => {
    expect(selectiveCopy(SMALL, 0).plateau).toBe(0.2)
  })

  it.each([
    [{vocabulary: 3}, 'copy: expected a `vocabulary` of at least 4'],
    [{data: 7}, 'copy: expected at most 6 `data` tokens in 13, got 7'],
  ])('refuses %o', (changes, message) => {
    expect(() => selectiveCopy({...SMALL, ...changes}, 0)).toThrow(message)
  })
})
