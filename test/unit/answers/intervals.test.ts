import {describe, expect, it} from 'vitest'
import {
  around,
  byInterval,
  byOverlap,
  byTest,
  endsOf,
  isWithin,
  reaches,
} from '../../../src/answers/index.js'

const ends = (low: number, high: number) => ({low, high})
const NONE = ends(Number.NaN, Number.NaN)

describe('by an interval alone', () => {
  it.each([
    [ends(1.1, 2), 'more'],
    [ends(0.5, 0.9), 'less'],
    [ends(0.9, 1.1), 'cannot_be_told'],
    [ends(1, 1.1), 'cannot_be_told'],
    [ends(1, 1), 'same'],
    [NONE, 'cannot_be_told'],
    [ends(0, Number.POSITIVE_INFINITY), 'cannot_be_told'],
  ])('%j is %s', (interval, answer) => {
    expect(byInterval(interval)).toBe(answer)
  })

  it('takes another number, or a margin around 1, as none', () => {
    expect(byInterval(ends(0.1, 0.2), 0)).toBe('more')
    const margin = around(0.25)
    expect(margin).toEqual({low: 0.8, high: 1.25})
    expect(byInterval(ends(0.7, 0.79), margin)).toBe('less')
    expect(byInterval(ends(0.8, 1.25), margin)).toBe('same')
    expect(byInterval(ends(1.2, 1.3), margin)).toBe('cannot_be_told')
    expect(byInterval(ends(1.26, 1.3), margin)).toBe('more')
  })

  it('counts the number itself where there is no interval and that is asked for', () => {
    expect(byInterval(endsOf({value: 2, ...NONE}))).toBe('more')
    expect(byInterval(endsOf({value: 2, ...ends(0.9, 3)}))).toBe('cannot_be_told')
  })

  it('says what may be as low as a bound, and what is at most one for certain', () => {
    expect([ends(0, 1), ends(-1, 1), ends(0.1, 1), NONE].map(one => reaches(one, 0))).toEqual([
      true,
      true,
      false,
      false,
    ])
    expect(reaches({low: null}, 0)).toBe(false)
    expect([ends(0, 1), ends(0, 1.1), NONE].map(one => isWithin(one, 1))).toEqual([
      true,
      false,
      false,
    ])
  })
})

describe('by a test and an interval', () => {
  const answer = (value: number, [low, high]: [number, number], pValue: number) =>
    byTest({value, low, high}, pValue, 0.01)

  it('goes by the p-value where there is one, else by the interval', () => {
    expect(answer(1.2, [0.9, 1.4], 0.01)).toBe('more')
    expect(answer(0.8, [0.7, 1.1], 0.01)).toBe('less')
    expect(answer(1.2, [1.1, 1.4], 0.2)).toBe('cannot_be_told')
    expect(answer(1.2, [1.1, 1.4], Number.NaN)).toBe('more')
    expect(answer(1.2, [0.9, 1.4], Number.NaN)).toBe('cannot_be_told')
  })

  it('is the same within the margin, whatever the p-value, and never more or less with a centre in it', () => {
    expect(answer(1.0005, [1.0005, 1.0005], 0.0005)).toBe('same')
    expect(answer(1.005, [0.98, 1.3], 0.0005)).toBe('cannot_be_told')
  })
})

describe('by two intervals', () => {
  it('is more or less where they do not overlap, and known of both', () => {
    expect(byOverlap(ends(2, 3), ends(0, 1))).toBe('more')
    expect(byOverlap(ends(0, 1), ends(2, 3))).toBe('less')
    expect(byOverlap(ends(0, 1), ends(1, 2))).toBe('cannot_be_told')
    expect(byOverlap({low: null, high: null}, ends(1, 2))).toBe('cannot_be_told')
    expect(byOverlap(NONE, ends(1, 2))).toBe('cannot_be_told')
  })
})
