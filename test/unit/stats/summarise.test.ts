import {describe, expect, it} from 'vitest'
import {medianInterval, summarise} from '../../../src/stats/index.js'

const nothing = {mean: null, median: null, low: null, high: null, min: null, max: null}
const {NaN: nan, POSITIVE_INFINITY: infinity} = Number

describe('summarise', () => {
  it('gives mean, median, the interval of the median, and the range', () => {
    const values = [8, 1, 2, 4, 13, 5, 7, 3, 9, 68]
    const {low, high} = medianInterval(values)
    expect(summarise(values)).toEqual({mean: 12, median: 6, low, high, min: 1, max: 68})
    expect([low, high]).toEqual([2, 13])
  })

  it('has a range but no interval for fewer than six values', () => {
    const range = {low: null, high: null, min: 1, max: 13}
    expect(summarise([5, 1, 2, 4, 13])).toEqual({mean: 5, median: 4, ...range})
    expect(summarise([3])).toEqual({mean: 3, median: 3, low: null, high: null, min: 3, max: 3})
  })

  it('has nothing to say about no values', () => {
    expect(summarise([])).toEqual(nothing)
  })

  it.each([nan, infinity, -infinity])('takes a replicate of %d as the worst error', broken => {
    expect(summarise([1, broken, 3])).toMatchObject({mean: null, median: 3, min: 1, max: null})
    const values = [1, 2, 3, 4, 5, 6, broken]
    expect(summarise(values)).toMatchObject({median: 4, low: 1, high: null})
  })

  it('takes a broken replicate of a similarity as the lowest', () => {
    expect(summarise([0.5, nan, 0.75], {worst: 'low'})).toMatchObject({
      mean: null,
      median: 0.5,
      min: null,
      max: 0.75,
    })
  })

  it('has no median when half of the replicates are broken', () => {
    expect(summarise([1, nan])).toMatchObject({mean: null, median: null, min: 1, max: null})
    expect(summarise([nan, infinity, nan])).toEqual(nothing)
  })
})
