import {describe, expect, it} from 'vitest'
import {welchTest} from '../../../src/stats/index.js'
import {REFERENCE, SIDES, TAIL_BOUND} from '../../helpers/stats-reference.js'

describe('welchTest', () => {
  it.each(REFERENCE.welch)('agrees with SciPy where t is $t', ({a, b, ...one}) => {
    for (const alternative of SIDES) {
      const test = welchTest(a, b, {alternative})
      expect(test.t).toMatchReference(one.t, 12)
      expect(test.degrees).toMatchReference(one.degrees, 10)
      expect(Math.abs(test.pValue / one.p[alternative] - 1)).toBeLessThan(TAIL_BOUND)
      expect(test.estimate.low).toMatchReference(one.interval[0], 12)
      expect(test.estimate.high).toMatchReference(one.interval[1], 12)
    }
  })

  it('sees no difference where nothing differs, and any where nothing varies', () => {
    const same = {value: 0, low: 0, high: 0}
    expect(welchTest([2, 2], [2, 2, 2])).toMatchObject({pValue: 1, estimate: same})
    expect(welchTest([3, 3], [2, 2])).toMatchObject({t: Number.POSITIVE_INFINITY, pValue: 0})
  })

  it('has no answer to one value, NaN or infinity', () => {
    for (const values of [[1], [1, Number.NaN], [1, 2, Number.POSITIVE_INFINITY]]) {
      for (const {pValue, estimate} of [welchTest(values, [1, 2]), welchTest([1, 2], values)]) {
        for (const value of [pValue, estimate.low, estimate.high]) expect(value).toBeNaN()
      }
    }
  })
})
