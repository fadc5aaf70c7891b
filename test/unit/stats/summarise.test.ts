import {describe, expect, it} from 'vitest'
import {bootstrapInterval, median, summarise} from '../../../src/stats/index.js'

const nothing = {mean: null, median: null, low: null, high: null}
const {NaN: nan, POSITIVE_INFINITY: infinity} = Number

describe('summarise', () => {
  it('gives mean, median and the bootstrap interval of the median', () => {
    const values = [5, 1, 2, 4, 13]
    const {low, high} = bootstrapInterval(values, median, {seed: 0, name: 'summary'})
    expect(summarise(values)).toEqual({mean: 5, median: 4, low, high})
    expect(low).toBeLessThan(4)
    expect(high).toBeGreaterThan(4)
  })

  it('draws by the seed and name it is given', () => {
    const values = Array.from({length: 31}, (_, i) => (i * i) % 31)
    const other = bootstrapInterval(values, median, {seed: 3, name: 'mse'})
    expect(summarise(values, {seed: 3, name: 'mse'})).toMatchObject(other)
  })

  it('has no interval for one value', () => {
    expect(summarise([3])).toEqual({mean: 3, median: 3, low: null, high: null})
  })

  it('has nothing to say about no values', () => {
    expect(summarise([])).toEqual(nothing)
  })

  it.each([nan, infinity, -infinity])('takes a replicate of %d as the worst error', broken => {
    expect(summarise([1, broken, 3])).toMatchObject({mean: null, median: 3, high: null})
  })

  it('takes a broken replicate of a similarity as the lowest', () => {
    expect(summarise([0.5, nan, 0.75], {worst: 'low'})).toMatchObject({
      mean: null,
      median: 0.5,
      low: null,
    })
  })

  it('has no median when half of the replicates are broken', () => {
    expect(summarise([1, nan])).toMatchObject({mean: null, median: null, high: null})
    expect(summarise([nan, infinity, nan])).toEqual(nothing)
  })
})
