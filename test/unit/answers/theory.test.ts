import {describe, expect, it} from 'vitest'
import {boundOn, byDistance} from '../../../src/answers/index.js'

describe('distances from what theory says', () => {
  it('has one bound for all rows', () => {
    expect(boundOn(1)).toBeCloseTo(1.96, 3)
    expect(boundOn(100)).toBeCloseTo(3.48, 2)
    expect(boundOn(0)).toBe(Number.POSITIVE_INFINITY)
  })

  it.each([
    ['equal', 'yes', 'no', 'no'],
    ['at_most', 'yes', 'yes', 'no'],
    ['below', 'cannot_be_told', 'yes', 'no'],
  ] as const)('%s: %s within the bound, %s below it, %s above', (asked, within, below, above) => {
    expect(byDistance(asked, [1, -1], 2)).toBe(within)
    expect(byDistance(asked, [1, -3], 2)).toBe(below)
    expect(byDistance(asked, [3, -3], 2)).toBe(above)
    expect(byDistance(asked, [], 2)).toBe('cannot_be_told')
  })
})
