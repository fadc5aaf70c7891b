import {describe, expect, it} from 'vitest'
import {drawProjection} from '../../../../src/attention/index.js'
import {firstPrimes} from '../../../../src/attention/projections/halton.js'
import {column, eachOnce, strataOf} from '../../../helpers/strata.js'

describe('halton', () => {
  it('uses the primes', () => {
    expect(firstPrimes(10)).toEqual([2, 3, 5, 7, 11, 13, 17, 19, 23, 29])
  })

  it('the first p^k points of a dimension have one in each interval of p^-k', () => {
    const primes = firstPrimes(5)
    const rows = drawProjection({name: 'halton', heads: 1, numFeatures: 125, headDim: 5, seed: 3})
    primes.forEach((prime, d) => {
      for (let count = 1; count <= 125; count *= prime) {
        const found = strataOf(column(rows, d, 5).subarray(0, count), count)
        expect(found.sort((a, b) => a - b)).toEqual(eachOnce(count))
      }
    })
  })
})
