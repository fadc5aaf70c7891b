import {describe, expect, it} from 'vitest'
import {
  LEAST_EFFICIENCY,
  pairsNeeded,
  studentNoncentrality,
  studentPower,
} from '../../../src/stats/index.js'
import {REFERENCE} from '../../helpers/stats-reference.js'

describe('studentPower', () => {
  it.each(REFERENCE.power_of_t)('of %i values with an effect of %d is %d', (n, effect, power) => {
    expect(Math.abs(studentPower(effect * Math.sqrt(n), n - 1) - power)).toBeLessThan(1e-9)
  })

  it('without effect is alpha, at any number of degrees', () => {
    for (const degrees of [1, 2, 3, 7, 19, 400]) {
      for (const alpha of [0.05, 1e-3, 1e-5]) {
        expect(Math.abs(studentPower(0, degrees, alpha) - alpha)).toBeLessThan(1e-9)
      }
    }
  })

  it('is turned around by the noncentrality', () => {
    const noncentrality = studentNoncentrality({degrees: 19, power: 0.8})
    expect(Math.abs(studentPower(noncentrality, 19) - 0.8)).toBeLessThan(1e-8)
  })

  it.each([
    [() => studentPower(1, 0.5), /power: expected at least 1 degree of freedom, got 0.5/],
    [() => studentPower(1, 5, 0), /power, `alpha`: expected a number between 0 and 1, got 0/],
    [() => studentNoncentrality({degrees: 5, power: 1}), /power, `power`: .* 0.999999, got 1/],
    [() => pairsNeeded({effect: 1, power: Number.NaN}), /power, `power`: .*, got NaN/],
  ])('refuses what is not a test (%#)', (act, message) => {
    expect(act).toThrow(message)
    expect(act).toThrow(expect.objectContaining({code: 'BAD_OPTION'}))
  })
})

describe('pairsNeeded', () => {
  it.each([0.2, 0.5, 1.5, 20])('is the least number that sees an effect of %d', effect => {
    const pairs = pairsNeeded({effect, test: 't'})
    const power = (n: number) => studentPower(effect * Math.sqrt(n), n - 1)
    expect(power(pairs)).toBeGreaterThanOrEqual(0.9)
    if (pairs > 2) expect(power(pairs - 1)).toBeLessThan(0.9)
  })

  it('goes over into the normal distribution, and ends for any effect', () => {
    // ((1.6449 + 1.2816) / effect)^2, the normal quantiles of 95 and 90 %
    expect(pairsNeeded({effect: 1e-4, test: 't'}) / 8.5638e8).toMatchReference(1, 4)
    expect(pairsNeeded({effect: 1e-12}) / (8.5638e24 / LEAST_EFFICIENCY)).toMatchReference(1, 4)
    const limit = studentPower(2, 100_001) - studentPower(2, 100_000)
    expect(Math.abs(limit)).toBeLessThan(1e-5)
  })

  it('for signed ranks is larger by the least efficiency, and never below what a p of alpha takes', () => {
    const plan = {effect: 0.5, alpha: 0.01, power: 0.8}
    const student = pairsNeeded({...plan, test: 't'})
    expect(pairsNeeded(plan)).toBe(Math.ceil(student / LEAST_EFFICIENCY))
    // five signs give 1/32
    expect(pairsNeeded({effect: 100})).toBe(5)
  })

  it.each([0, -1, Number.NaN])('refuses an effect of %d', effect => {
    const act = () => pairsNeeded({effect})
    expect(act).toThrow(`power, \`effect\`: expected a positive number, got ${effect}`)
    expect(act).toThrow(expect.objectContaining({code: 'BAD_OPTION'}))
  })
})
