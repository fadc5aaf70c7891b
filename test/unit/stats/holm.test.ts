import {describe, expect, it} from 'vitest'
import {holm} from '../../../src/stats/index.js'
import {REFERENCE} from '../../helpers/stats-reference.js'

describe('holm', () => {
  it('agrees with statsmodels', () => {
    const {p, adjusted} = REFERENCE.holm
    holm(p).forEach((value, at) => {
      expect(Math.abs(value / adjusted[at]! - 1)).toBeLessThan(2 * Number.EPSILON)
    })
  })

  it('counts a test that could not be made', () => {
    expect(holm([0.01, Number.NaN, 0.02])).toEqual([0.03, Number.NaN, 0.04])
    expect(holm([Number.NaN])).toEqual([Number.NaN])
  })

  it('leaves one test as it is, and of none makes none', () => {
    expect(holm([0.3])).toEqual([0.3])
    expect(holm([])).toEqual([])
  })
})
