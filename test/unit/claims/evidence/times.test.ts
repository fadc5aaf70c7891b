import {describe, expect, it} from 'vitest'
import {measuredRatio, measuredSum} from '../../../../src/claims/evidence/times.js'
import {Unmeasured} from '../../../../src/claims/runs.js'
import type {LogTime} from '../../../../src/experiments/bench/times/paired-times.js'
import {studentTest} from '../../../../src/stats/index.js'

const values = [1.1, 2.2, 3.1, 4.3, 2.4].map(Math.log)
const test = studentTest(values)
const time: LogTime = {
  value: test.estimate.value,
  error: test.standardError,
  degrees: test.degrees,
}
const pOf = (mean: number, alternative: 'greater' | 'less') =>
  studentTest(values, {mean, alternative}).pValue

describe('measuredSum', () => {
  it('has the interval and the tests of Student', () => {
    const measured = measuredSum(time)
    for (const name of ['value', 'low', 'high'] as const) {
      expect(measured[name]).toMatchReference(test.estimate[name], 12)
    }
    for (const bound of [0, 0.9, 1.5]) {
      expect(measured.above(bound)).toMatchReference(pOf(bound, 'greater'), 12)
      expect(measured.below(bound)).toMatchReference(pOf(bound, 'less'), 12)
    }
  })

  it('is none of one process', () => {
    const one = {value: 1, error: Number.NaN, degrees: 0}
    expect(() => measuredSum(one)).toThrow(Unmeasured)
    expect(() => measuredRatio(one)).toThrow('times were taken in one process; it takes several')
  })
})

describe('measuredRatio', () => {
  it('is that of logarithms', () => {
    const ratio = measuredRatio(time)
    for (const name of ['value', 'low', 'high'] as const) {
      expect(Math.log(ratio[name])).toMatchReference(test.estimate[name], 12)
    }
    expect(ratio.above(2)).toMatchReference(pOf(Math.log(2), 'greater'), 12)
    expect(ratio.below(2)).toMatchReference(pOf(Math.log(2), 'less'), 12)
  })
})
