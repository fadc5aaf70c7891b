import {describe, expect, it} from 'vitest'
import {spearman} from '../../../src/stats/index.js'

describe("Spearman's rank correlation", () => {
  it.each([
    [[1, 2, 3], [10, 20, 90], 1],
    [[1, 2, 3], [9, 8, 1], -1],
    // 1 - 6 sum d^2 / (n (n^2 - 1)), of d = 0, 1, 1, 0
    [[1, 2, 3, 4], [1, 3, 2, 4], 0.8],
    // ties at mean ranks: 1, 2.5, 2.5 against 1, 2, 3
    [[1, 5, 5], [1, 2, 3], Math.sqrt(3) / 2],
  ])('of %j and %j', (a, b, expected) => {
    expect(spearman(a, b)).toMatchReference(expected, 14)
  })

  it('is unknown where one side is constant', () => {
    expect(spearman([1, 1], [1, 2])).toBeNaN()
  })
})
