import {describe, expect, it} from 'vitest'
import {
  errorText,
  exactError,
  isUnsettled,
  lengthText,
  speedText,
} from '../../../src/advice/words.js'

describe('errorText', () => {
  it.each([
    ['rel_l2', 0.0237, 0.02, 0.03, '2.37 % [2, 3]'],
    ['rel_l2', 0.84, 0.84, 0.84, '84 %'],
    ['rel_l2', 116, 63, 443, '116x [63, 443]'],
    ['rel_l2', 0.05, Number.NaN, Number.NaN, '5 %'],
    ['mse', 0.0004, 0.0003, 0.0005, '0.000400 [0.000300, 0.000500]'],
    ['rel_l2', Number.NaN, Number.NaN, Number.NaN, '-'],
  ] as const)('of %s %d [%d, %d] is %s', (metric, value, low, high, text) => {
    expect(errorText(metric, {value, low, high})).toBe(text)
  })

  it('of a tolerance is the number alone', () => {
    expect(exactError('rel_l2', 0.2)).toBe('20 %')
  })
})

describe('speedText', () => {
  it.each([
    [3.44, 2.92, 4.18, '3.44x [2.92, 4.18]', false],
    [18, 2.45, 107, '2.45-107x', true],
    [0.01, 4e-6, 0.585, 'below 0.585x', true],
    [4, 4, 4, '4.00x', false],
    [4, Number.NaN, Number.NaN, 'about 4.00x', true],
    [4, 1.5, Number.POSITIVE_INFINITY, 'over 1.50x', true],
    [4, 0, Number.POSITIVE_INFINITY, '?', true],
    [4, 0, Number.NaN, '?', true], // as saved
    [Number.NaN, Number.NaN, Number.NaN, '-', false],
  ])('of %d [%d, %d] is %s', (value, low, high, text, unsettled) => {
    expect(speedText({value, low, high})).toBe(text)
    expect(isUnsettled({value, low, high})).toBe(unsettled)
  })
})

describe('lengthText', () => {
  it('has the interval as far as it has ends', () => {
    const from = (low: number, high: number) => lengthText({value: 4150, low, high})
    expect(from(3800, 4600)).toBe('4150 [3800, 4600]')
    expect(from(406, 9000)).toBe('406-9000')
    expect(from(3800, Number.POSITIVE_INFINITY)).toBe('3800 or more')
    expect(from(4150, 4150)).toBe('4150')
    expect(from(Number.NaN, Number.POSITIVE_INFINITY)).toBe('about 4150')
  })
})
