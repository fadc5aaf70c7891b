import {describe, expect, it} from 'vitest'
import {logRatios, pairedRatio, signedRank, studentTest} from '../../../src/stats/index.js'

const a = [3, 5, 8, 13, 21, 34, 55]
const b = [1, 4, 9, 11, 17, 30, 40]

describe('pairedRatio', () => {
  it('tests the logarithms, both ways', () => {
    const options = {alternative: 'greater', confidence: 0.9} as const
    expect(pairedRatio(a, b, options)).toMatchObject({
      pairs: 7,
      signedRank: signedRank(logRatios(a, b), options),
      student: studentTest(logRatios(a, b), options),
    })
  })

  it('refuses lists of different length', () => {
    const act = () => pairedRatio(a, [1])
    expect(act).toThrow(/expected as many first as second values, got 7 and 1/)
    expect(act).toThrow(expect.objectContaining({code: 'SHAPE_MISMATCH'}))
  })

  it('is that of the logarithms, and turned around its inverse', () => {
    const found = pairedRatio(a, b)

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
