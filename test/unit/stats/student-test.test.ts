import {describe, expect, it} from 'vitest'
import {studentTest} from '../../../src/stats/index.js'
import {REFERENCE, SIDES, TAIL_BOUND} from '../../helpers/stats-reference.js'

describe('studentTest', () => {
  it.each(REFERENCE.student_test)('agrees with SciPy about a mean of $mean', one => {
    for (const alternative of SIDES) {
      const test = studentTest(one.values, {mean: one.mean, alternative})
      expect(test.degrees).toBe(one.values.length - 1)
      expect(test.t).toMatchReference(one.t, 12)
      // t is off by some ten roundings, its tail by that times n at most
      expect(Math.abs(test.pValue / one.p[alternative] - 1)).toBeLessThan(TAIL_BOUND)
      expect(test.estimate.low).toMatchReference(one.interval[0], 12)
      expect(test.estimate.high).toMatchReference(one.interval[1], 12)
    }
  })

  it('has the confidence asked for', () => {
    // t(0.75; 1) = 1: the interval of half confidence is one standard error wide on each side
    const {estimate, standardError} = studentTest([1, 3], {confidence: 0.5})
    expect([estimate.value, standardError]).toEqual([2, 1])
    expect(estimate.low).toMatchReference(1, 12)
    expect(estimate.high).toMatchReference(3, 12)
  })

  it('sees no difference where nothing differs, and any where nothing varies', () => {
    const constant = {value: 0, low: 0, high: 0}
    expect(studentTest([0, 0, 0])).toMatchObject({t: 0, pValue: 1, estimate: constant})
    expect(studentTest([2, 2, 2])).toMatchObject({t: Number.POSITIVE_INFINITY, pValue: 0})
    expect(studentTest([2, 2, 2], {alternative: 'less'}).pValue).toBe(1)
  })

  it('has no answer to one value, NaN or infinity', () => {
    for (const values of [[], [1], [1, Number.NaN], [1, 2, Number.POSITIVE_INFINITY]]) {
      const {pValue, estimate} = studentTest(values)
      for (const value of [pValue, estimate.low, estimate.high]) expect(value).toBeNaN()
    }
  })

  it('refuses a confidence that is none', () => {
    const act = () => studentTest([1, 2], {confidence: 95})
    expect(act).toThrow(/t test, `confidence`: expected a number between 0 and 1, got 95/)
    expect(act).toThrow(expect.objectContaining({code: 'BAD_OPTION'}))
  })
})
