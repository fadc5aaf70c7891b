import {describe, expect, it} from 'vitest'
import {pairedSuperiority, superiority} from '../../../src/stats/index.js'
import {REFERENCE} from '../../helpers/stats-reference.js'

describe('superiority', () => {
  it.each(REFERENCE.welch)('is the Mann-Whitney statistic of SciPy: $superiority', one => {
    expect(superiority(one.a, one.b)).toMatchReference(one.superiority, 14)
    expect(superiority(one.b, one.a)).toMatchReference(1 - one.superiority, 14)
  })

  it('counts ties as half', () => {
    expect(superiority([1, 2], [1, 2])).toBe(0.5)
    expect(superiority([3], [1, 3])).toBe(0.75)
  })

  it('has no answer to nothing and to NaN', () => {
    for (const [a, b] of [
      [[], [1]],
      [[1], []],
      [[1, Number.NaN], [1]],
      [[1], [Number.NaN, 1]],
    ] as const) {
      expect(superiority(a, b)).toBeNaN()
    }
  })
})

describe('pairedSuperiority', () => {
  it('compares within pairs', () => {
    expect(pairedSuperiority([2, 20, 5, 1], [1, 10, 5, 3])).toBe(0.625)
    expect(pairedSuperiority([], [])).toBeNaN()
    expect(() => pairedSuperiority([1], [])).toThrow(/the same number of first and second values/)
  })
})
