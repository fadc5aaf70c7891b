import {describe, expect, it} from 'vitest'
import {measuredMean, measuredRatio} from '../../../src/claims/measured.js'
import {Unmeasured} from '../../../src/claims/runs.js'
import {studentTest} from '../../../src/stats/index.js'

const values = [1, 2, 3, 4, 2, 3, 1, 4]

describe('measuredMean', () => {
  it('has the interval and the tests of Student', () => {
    const measured = measuredMean(values)
    expect(measured).toMatchObject(studentTest(values).estimate)
    expect(measured.above(1)).toBe(studentTest(values, {mean: 1, alternative: 'greater'}).pValue)
    expect(measured.below(1)).toBeCloseTo(1 - measured.above(1), 12)
  })

  it('is none of fewer turns than a test takes', () => {
    expect(() => measuredMean(values.slice(1))).toThrow(Unmeasured)
  })
})

describe('measuredRatio', () => {
  it('is that of logarithms', () => {
    const ratio = measuredRatio(values.map(Math.log))
    expect(ratio.value).toBeCloseTo(values.reduce((x, y) => x * y, 1) ** (1 / 8), 12)
    expect(ratio.above(2)).toBe(measuredMean(values.map(Math.log)).above(Math.log(2)))
  })
})
