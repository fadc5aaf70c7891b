import {describe, expect, it} from 'vitest'
import {answerOf} from '../../../src/experiments/answers.js'

describe('answerOf', () => {
  const answer = (value: number, [low, high]: [number, number], pValue: number) =>
    answerOf({value, low, high}, pValue, 0.01)

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
