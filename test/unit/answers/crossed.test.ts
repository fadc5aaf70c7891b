import {describe, expect, it} from 'vitest'
import {byCrossedDifference, crossedRatio} from '../../../src/answers/index.js'

describe('losses of the same draws on the same texts', () => {
  const texts = [0.1, 0.5, 0.9]
  const losses = (shift: number) => [0, 0.3].map(draw => texts.map(text => text + draw + shift))

  it('has no noise of texts and draws in a difference', () => {
    expect(byCrossedDifference(losses(0.01), losses(0))).toBe('more')
    expect(byCrossedDifference(losses(0), losses(0.01))).toBe('less')
    expect(byCrossedDifference(losses(0), losses(0))).toBe('same')
    const lone = [texts]
    expect(byCrossedDifference(lone, losses(0.4))).toBe('cannot_be_told')
    expect(crossedRatio(losses(0), losses(0))).toEqual({value: 1, low: 1, high: 1})
  })

  it('is unknown for other texts, without any, and for a single number', () => {
    const other = [[0.1, 0.2]]
    for (const [a, b] of [
      [losses(0), other],
      [[], []],
      [[[1]], [[2]]],
    ] as const) {
      expect(byCrossedDifference(a, b)).toBeUndefined()
      expect(crossedRatio(a, b)).toBeUndefined()
    }
  })
})
