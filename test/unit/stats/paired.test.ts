import {describe, expect, it} from 'vitest'
import {
  equivalence,
  logRatios,
  pairedDifference,
  pairedRatio,
  signedRank,
  studentTest,
} from '../../../src/stats/index.js'
import {REFERENCE, TAIL_BOUND} from '../../helpers/stats-reference.js'

const a = [3, 5, 8, 13, 21, 34, 55]
const b = [1, 4, 9, 11, 17, 30, 40]

describe('pairedDifference', () => {
  it('tests the differences, both ways', () => {
    const differences = [2, 1, -1, 2, 4, 4, 15]
    const options = {alternative: 'greater', confidence: 0.9} as const
    expect(pairedDifference(a, b, options)).toEqual({
      pairs: 7,
      signedRank: signedRank(differences, options),
      student: studentTest(differences, options),
    })
  })

  it('refuses lists of different length', () => {
    for (const act of [() => pairedDifference(a, [1]), () => pairedRatio(a, [1])]) {
      expect(act).toThrow(/expected as many first as second values, got 7 and 1/)
      expect(act).toThrow(expect.objectContaining({code: 'SHAPE_MISMATCH'}))
    }
  })
})

describe('pairedRatio', () => {
  it('is that of the logarithms, and turned around its inverse', () => {
    const found = pairedRatio(a, b)
    expect(found.signedRank).toEqual(signedRank(logRatios(a, b)))
    expect(found.ratio.value).toBe(Math.exp(found.signedRank.estimate.value))
    expect(found.meanRatio.low).toBe(Math.exp(found.student.estimate.low))
    const back = pairedRatio(b, a)
    // a logarithm and an exponential, rounded once each, of numbers below 4
    expect(Math.abs(back.ratio.low * found.ratio.high - 1)).toBeLessThan(16 * Number.EPSILON)
    expect(back.signedRank.pValue).toBe(found.signedRank.pValue)
  })

  it('of broken values is NaN where they meet, and of NaN', () => {
    const far = Number.POSITIVE_INFINITY
    expect(pairedRatio([1, far], [2, far]).signedRank.pValue).toBeNaN()
    expect(pairedRatio([1, Number.NaN], [2, 1]).ratio.value).toBeNaN()
    expect(pairedRatio([1, far], [2, 3]).signedRank.pValue).toBe(1)
  })

  it.each([0, -2])('refuses %d', value => {
    const act = () => pairedRatio([1, 2], [1, value])
    expect(act).toThrow(`paired ratio, b[1]: expected a positive number, got ${value}`)
    expect(act).toThrow(expect.objectContaining({code: 'BAD_OPTION'}))
  })
})

describe('equivalence', () => {
  it.each(REFERENCE.tost)('by t agrees with statsmodels between $low and $high', one => {
    const found = equivalence(one.values, {low: one.low, high: one.high, by: 't'})
    const near = (value: number, want: number) =>
      expect(Math.abs(value / want - 1)).toBeLessThan(TAIL_BOUND)
    near(found.pValue, one.p)
    near(found.aboveLow, one.above_low)
    near(found.belowHigh, one.below_high)
  })

  it('by ranks is the larger of two one-sided tests', () => {
    const {values} = REFERENCE.tost[0]!
    const {pValue, aboveLow, belowHigh} = equivalence(values, {low: -0.5, high: 0.6})
    const shifted = (by: number) => values.map(value => value - by)
    expect(aboveLow).toBe(signedRank(shifted(-0.5), {alternative: 'greater'}).pValue)
    expect(belowHigh).toBe(signedRank(shifted(0.6), {alternative: 'less'}).pValue)
    expect(pValue).toBe(Math.max(aboveLow, belowHigh))
  })

  it('is never shown by few values, nor by NaN', () => {
    expect(equivalence([0, 0, 0, 0], {low: -1, high: 1}).pValue).toBe(2 ** -4)
    expect(equivalence([0, Number.NaN], {low: -1, high: 1}).pValue).toBeNaN()
  })

  it.each([
    [1, 1],
    [2, 1],
    [Number.NaN, 1],
  ])('refuses margins %d and %d', (low, high) => {
    const act = () => equivalence([1, 2], {low, high})
    expect(act).toThrow(`equivalence: expected \`low\` below \`high\`, got ${low} and ${high}`)
    expect(act).toThrow(expect.objectContaining({code: 'BAD_OPTION'}))
  })
})
