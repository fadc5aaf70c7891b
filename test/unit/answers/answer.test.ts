import {describe, expect, it} from 'vitest'
import {differs, rejections, tiesWith} from '../../../src/answers/index.js'

describe('what all rules have in common', () => {
  it('takes all that are not distinguishable from the least, without itself', () => {
    const compare = (a: number, b: number) => (b - a > 1 ? 'less' : 'cannot_be_told')
    expect(tiesWith(1, [1, 2, 3, 1.5], compare)).toEqual([2, 1.5])
    expect(differs('less') && differs('more')).toBe(true)
    expect(differs('same') || differs('cannot_be_told')).toBe(false)
  })

  it('rejects below 5 % of all tests together', () => {
    expect(rejections([0.02, 0.6, 0.04]).map(({rejected}) => rejected)).toEqual([
      false,
      false,
      false,
    ])
    expect(rejections([0.01, 0.6, 0.04])[0]).toEqual({p: 0.03, rejected: true})
  })
})
