import {describe, expect, it} from 'vitest'
import {largestScale, nearestInError, neededFeatures} from '../../../src/advice/changes.js'
import type {Offer} from '../../../src/advice/recommend.js'

const exactly = (value: number) => ({value, low: value, high: value})
const offer = (label: string, error: number, gain: number): Offer => ({
  label,
  error: exactly(error),
  time: exactly(1),
  gain: exactly(gain),
  unfit: false,
  beatsMean: true,
})

describe('neededFeatures', () => {
  it('is the known M at 5 %, four times as much at half the error', () => {
    const measured = {numFeatures: 256, error: 0.2}
    expect(neededFeatures(measured, 4096, 0.05)).toBe(4096)
    expect(neededFeatures(measured, 4096, 0.025)).toBe(4 * 4096)
  })

  it('lies on the power law between what was measured and 5 %', () => {
    // 0.2 at 256 and 0.05 at 4096: error = 0.2 (M / 256)^(-1/2)
    expect(neededFeatures({numFeatures: 256, error: 0.2}, 4096, 0.1)).toBe(1024)
  })

  it('is not known beyond 16 million', () => {
    expect(neededFeatures({numFeatures: 256, error: 0.2}, 2 ** 20, 0.0125)).toBe(2 ** 24)
    expect(neededFeatures({numFeatures: 256, error: 0.2}, 2 ** 20, 0.01)).toBeNull()
  })

  it('is not known without a prediction, nor where the error does not fall', () => {
    expect(neededFeatures({numFeatures: 256, error: 0.2}, null, 0.1)).toBeNull()
    expect(neededFeatures({numFeatures: 256, error: 0.2}, 128, 0.1)).toBeNull()
    expect(neededFeatures({numFeatures: 256, error: 0.09}, 1024, 0.1)).toBeNull()
  })
})

describe('what else could be asked', () => {
  it('is the least error of what is faster', () => {
    const offers = [offer('slow', 0.1, 0.9), offer('fast', 0.3, 3), offer('faster', 0.4, 4)]
    expect(nearestInError(offers, {tolerance: 0.05, budget: null})?.label).toBe('fast')
    const unfit = offers.map(one => ({...one, unfit: true}))
    const even = offers.map(one => ({...one, beatsMean: false}))
    expect(nearestInError(even, {tolerance: 0.05, budget: null})).toBeUndefined()
    expect(nearestInError(unfit, {tolerance: 0.05, budget: null})).toBeUndefined()
  })

  it('is the largest scale with something to take', () => {
    const found = offer('a', 0.01, 2)
    const choices = new Map([
      [0.25, {offer: found}],
      [0.5, {offer: found}],
      [0.7, {obstacle: 'error' as const}],
    ])
    expect(largestScale(choices)).toEqual({scale: 0.5, offer: found})
    expect(largestScale(new Map([[0.5, {obstacle: 'time' as const}]]))).toBeUndefined()
  })
})
