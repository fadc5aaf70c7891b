import {describe, expect, it} from 'vitest'
import {
  maclaurinRow,
  truncatedExponential,
  truncatedGeometric,
} from '../../../src/theory/maclaurin.js'

const DEGREES = Array.from({length: 13}, (_, n) => n)

describe('the law of degrees', () => {
  const law = truncatedGeometric(12)

  it('halves with each degree and sums to one', () => {
    const total = DEGREES.reduce((sum, n) => sum + law.probability(n), 0)
    expect(total).toMatchReference(1, 14)
    for (const n of DEGREES.slice(1)) {
      expect(law.probability(n - 1)).toBe(2 * law.probability(n))
    }
  })

  it('gives each degree its share of [0, 1], the last one up to the end', () => {
    let start = 0
    for (const n of DEGREES) {
      const end = start + law.probability(n)
      expect(law.quantile((start + end) / 2)).toBe(n)
      start = end
    }
    expect(law.quantile(0)).toBe(0)
    expect(law.quantile(1)).toBe(12)
  })
})

describe('closed forms of random Maclaurin features', () => {
  const x = Float64Array.of(0.5, -0.25)
  const y = Float64Array.of(0.75, 0.5)

  it('expect the power series of exp(x.y) as far as it goes', () => {
    expect(truncatedExponential(x, y, 1)).toBe(1.25)
    expect(truncatedExponential(x, y, 2)).toBe(1.28125)
    expect(truncatedExponential(x, y, 20)).toMatchReference(Math.exp(0.25), 14)
  })

  it('have the variance of all sign vectors counted out, for degrees 0 and 1', () => {
    // p = 2/3, 1/3: a feature is worth 3/2, or 3 (w.x)(w.y) with (w.x)(w.y) one of s +- 1/16
    const products = [0.25 * 1.25, 0.75 * 0.25] // signs alike, signs apart
    const second = (2 / 3) * 1.5 ** 2 + (products[0]! ** 2 + products[1]! ** 2) * (9 / 6)
    const first = (2 / 3) * 1.5 + (products[0]! + products[1]!) * (3 / 6)
    expect(first).toMatchReference(1.25, 14)
    expect(maclaurinRow(x, y, 1).variance).toMatchReference(second - first ** 2, 14)
  })
})
