import {describe, expect, it} from 'vitest'
import {rateAt} from '../../../../../src/experiments/train/measure/train.js'

describe('the rate of a step', () => {
  const rates = Array.from({length: 100}, (_, at) => rateAt(at + 1, {rate: 2, steps: 100}))

  it('rises over the first twentieth of the steps, then falls as a cosine to about 0', () => {
    expect(rates[0]).toBe(2 / 5)
    expect(Math.max(...rates)).toBe(rates[4])
    expect(rates[50]).toMatchReference(1, 12)
    expect(rates[99]).toBeLessThan(0.001)
    expect(rates.slice(4)).toEqual(rates.slice(4).toSorted((a, b) => b - a))
  })

  it('is there from the first step of a short run', () => {
    expect(rateAt(1, {rate: 2, steps: 1})).toBe(2)
  })
})
