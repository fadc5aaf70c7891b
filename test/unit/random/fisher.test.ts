import {describe, expect, it} from 'vitest'
import {fisherCosine, randomStream} from '../../../src/random/index.js'
import {panels} from '../../../src/theory/quadrature.js'
import {moments} from '../../helpers/statistics.js'

describe('cosines of the law of von Mises and Fisher', () => {
  it.each([
    [2, 1],
    [3, 0],
    [5, 0.5],
    [5, 30],
    [64, 40],
  ])('in %i dimensions, concentration %f, have its mean and mean square', (dim, concentration) => {
    const [total, ...wanted] = [0, 1, 2].map(k =>
      panels(0, Math.PI, 0.1).reduce((sum, [angle, weight]) => {
        const cosine = Math.cos(angle)
        const density = Math.exp(concentration * (cosine - 1)) * Math.sin(angle) ** (dim - 2)
        return sum + weight * density * cosine ** k
      }, 0),
    )
    const stream = randomStream(3, 'fisher', dim, Math.round(concentration * 10))
    const found = Array.from({length: 20_000}, () => fisherCosine(stream, dim, concentration))
    for (const [k, value] of wanted.entries()) {
      const {mean, standardError} = moments(found.map(cosine => cosine ** (k + 1)))
      // ten checks: each beyond 4.5 once in 1.5e5
      expect(Math.abs(mean - value / total!)).toBeLessThan(4.5 * standardError)
    }
  })

  it('are signs on a line', () => {
    const stream = randomStream(3, 'fisher', 1)
    const found = Array.from({length: 20_000}, () => fisherCosine(stream, 1, 0.7))
    expect(new Set(found)).toEqual(new Set([1, -1]))
    const {mean, standardError} = moments(found)
    expect(Math.abs(mean - Math.tanh(0.7))).toBeLessThan(4.5 * standardError)
  })
})
