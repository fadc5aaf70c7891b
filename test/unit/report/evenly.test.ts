import {describe, expect, it} from 'vitest'
import {evenly, fairShare} from '../../../src/report/evenly.js'

const list = Array.from({length: 101}, (_, at) => at)

describe('evenly', () => {
  it('takes so many in their order, with both ends', () => {
    expect(evenly(list, 5)).toEqual([0, 25, 50, 75, 100])
    expect(evenly(list, 2)).toEqual([0, 100])
    expect(evenly(list, 1)).toEqual([0])
    expect(new Set(evenly(list, 100)).size).toBe(100)
  })

  it('takes all where there are no more', () => {
    expect(evenly(list, 101)).toBe(list)
    expect(evenly([], 3)).toEqual([])
  })
})

describe('fairShare', () => {
  const lists = [{length: 3}, {length: 50}, {length: 1000, weight: 2}]

  it.each([10, 100, 700, 5000])('is the largest that keeps to %d', most => {
    const shown = (share: number) =>
      lists.reduce((sum, {length, weight = 1}) => sum + weight * Math.min(length, share), 0)
    const share = fairShare(lists, most)
    expect(shown(share)).toBeLessThanOrEqual(most)
    if (share <= 1000) expect(shown(share + 1)).toBeGreaterThan(most)
  })

  it('is one at least', () => {
    expect(fairShare(lists, 0)).toBe(1)
    expect(fairShare([], 0)).toBe(1)
  })
})
